import PostriderCourier
import Testing

@Suite struct GRPCTests {
    @Test("a status is read from its number, and anything else is unknown")
    func statuses() {
        for status in GRPCStatus.allCases {
            #expect(GRPCStatus(Array(String(status.rawValue).utf8).span) == status)
        }
        for text in ["", "17", "-1", "00", " 0", "0 ", "x", "999999999999999999999"] {
            #expect(GRPCStatus(Array(text.utf8).span) == .unknown)
        }
        #expect(GRPCStatus.allCases.map(\.rawValue) == Array(0...16))
    }

    @Test(
        "an HTTP status without grpc-status means what gRPC says",
        arguments: [
            (400, .internalError), (401, .unauthenticated), (403, .permissionDenied), (404, .unimplemented),
            (429, .unavailable), (500, .unknown), (502, .unavailable), (503, .unavailable),
            (504, .unavailable),
            (200, .unknown),
        ] as [(Int, GRPCStatus)]
    )
    func httpStatuses(_ http: Int, _ status: GRPCStatus) {
        #expect(GRPCStatus(httpStatus: http) == status)
    }

    @Test("a message is percent-encoded outside of printable ASCII, and read back")
    func messages() {
        let table = [
            ("", ""), ("All good.", "All good."), ("100 %", "100 %25"), ("Küche\n", "K%C3%BCche%0A"),
            ("~\u{7F}", "~%7F"),
        ]
        for (text, header) in table {
            #expect(String(decoding: GRPCMessage.encode(text), as: UTF8.self) == header)
            #expect(GRPCMessage.decode(Array(header.utf8).span) == text)
        }
    }

    @Test(
        "what is badly encoded is kept",
        arguments: [
            ("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%%41", "%A"), ("%c3%bc", "ü"), ("%FF", "\u{FFFD}"),
        ]
    )
    func badMessages(_ header: String, _ text: String) {
        #expect(GRPCMessage.decode(Array(header.utf8).span) == text)
    }

    @Test("a method is found by its whole path")
    func methods() {
        for method in CourierMethod.allCases {
            #expect(CourierMethod(path: Array(method.rawValue.utf8).span) == method)
        }
        for path in [
            "", "/", "/postrider.courier.v1.Courier", "/postrider.courier.v1.Courier/Enroll/", "/3/device/x",
        ] {
            #expect(CourierMethod(path: Array(path.utf8).span) == nil)
        }
    }
}
