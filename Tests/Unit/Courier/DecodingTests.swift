import PostriderCourier
import PostriderNotifications
import Testing

@Suite struct DecodingTests {
    @Test(
        "a malformed message is refused with the error that names its fault",
        arguments: [
            ([0x08], .truncated),
            ([0x80], .truncated),
            ([0x0A], .truncated),
            ([0x0A, 0x05, 0x61], .truncated),
            ([0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01], .truncated),
            ([0x1D, 1, 2, 3], .truncated),
            ([0x19, 1, 2, 3, 4, 5, 6, 7], .truncated),
            ([0x18] + [UInt8](repeating: 0x80, count: 10) + [0], .overlongVarint),
            ([0x18] + [UInt8](repeating: 0xFF, count: 9) + [0x02], .overlongVarint),
            ([0x00, 0x00], .invalidTag),
            ([0x02, 0x00], .invalidTag),
            ([0x0E], .invalidTag),
            ([0x0F], .invalidTag),
            ([0x80, 0x80, 0x80, 0x80, 0x10, 0x00], .invalidTag),
            ([0x0B, 0x0C], .group(field: 1)),
            ([0x0C], .group(field: 1)),
            ([0x7B], .group(field: 15)),
            ([0x08, 0x01], .wrongWireType(field: 1)),
            ([0x0D, 1, 2, 3, 4], .wrongWireType(field: 1)),
            ([0x11, 1, 2, 3, 4, 5, 6, 7, 8], .wrongWireType(field: 2)),
            ([0x0A, 0x01, 0xFF], .invalidText(field: 1)),
            ([0x12, 0x02, 0xC0, 0x80], .invalidText(field: 2)),
            ([0x12, 0x03, 0xED, 0xA0, 0x80], .invalidText(field: 2)),
        ] as [([UInt8], CourierError)]
    )
    func malformed(_ bytes: [UInt8], _ error: CourierError) {
        #expect(decodingError(EnrollRequest.self, bytes) == error)
        #expect(!error.description.isEmpty)
    }

    @Test("texts of an enrolment are bounded")
    func textBounds() {
        let longest = String(repeating: "x", count: Limits.courierTextBytes)
        #expect(
            decodingError(EnrollRequest.self, encoded(EnrollRequest(enrolmentKey: longest, name: longest)))
                == nil)
        let limit = Limits.courierTextBytes
        #expect(
            decodingError(EnrollRequest.self, encoded(EnrollRequest(enrolmentKey: longest + "x", name: "")))
                == .textTooLong(field: 1, limit: limit)
        )
        #expect(
            decodingError(EnrollRequest.self, encoded(EnrollRequest(enrolmentKey: "", name: longest + "x")))
                == .textTooLong(field: 2, limit: limit)
        )
    }

    @Test("a reception names so many topics at most, and fits into one message however long they are")
    func receptions() throws {
        let many = (0...Limits.registrationsPerDevice).map { "app.\($0)" }
        #expect(Reception(ignored: many).ignored.count == Limits.registrationsPerDevice)
        var bytes: [UInt8] = []
        for topic in many { bytes += [0x12, UInt8(topic.utf8.count)] + topic.utf8 }
        #expect(
            decodingError(Reception.self, bytes)
                == .tooMany(field: 2, limit: Limits.registrationsPerDevice))
        // A battery is at 100 % at most.
        for (bytes, percent) in [([0x20, 101], 100), ([0x20, 102], nil), ([0x20, 0], nil)]
            as [([UInt8], Int?)]
        {
            #expect(try Reception(decoding: bytes.span).batteryPercent == percent)
        }
        let long = many.dropLast().map { $0 + String(repeating: "x", count: Limits.topicBytes - 7) }
        let reception = Reception(savesPower: true, opportunistic: long, ignored: Array(long.prefix(10)))
        #expect(reception.ignored.count == 10 && (20...256).contains(reception.opportunistic.count))
        let hello = Hello(
            deviceIdentity: Samples.device, deviceSecret: Samples.secret, keepaliveSeconds: .max,
            agent: String(repeating: "a", count: Limits.courierTextBytes), reception: reception)
        #expect(encoded(DeviceMessage.hello(hello)).count <= Limits.deviceMessageBytes)
    }

    @Test("identities, secrets and tokens must be there and have their length")
    func lengths() {
        let device = [0x0A, 12] + [UInt8](repeating: 1, count: 12)
        #expect(decodingError(Hello.self, []) == .wrongLength(field: 1, expected: 12))
        #expect(decodingError(Hello.self, [0x0A, 1, 1]) == .wrongLength(field: 1, expected: 12))
        #expect(decodingError(Hello.self, device) == .wrongLength(field: 2, expected: 32))
        #expect(decodingError(EnrollResponse.self, []) == .wrongLength(field: 1, expected: 12))
        #expect(
            decodingError(EnrollResponse.self, device + [0x12, 1, 1]) == .wrongLength(field: 2, expected: 32))
        #expect(decodingError(Registered.self, []) == .wrongLength(field: 2, expected: 32))
        #expect(decodingError(Deliver.self, []) == .wrongLength(field: 2, expected: 16))
    }

    @Test("an error in a nested message is an error of the message")
    func nested() {
        #expect(decodingError(DeviceMessage.self, [0x0A, 0x00]) == .wrongLength(field: 1, expected: 12))
        #expect(decodingError(DeviceMessage.self, [0x12, 0x02, 0x0A, 0x05]) == .truncated)
        #expect(decodingError(DeviceMessage.self, [0x10, 0x01]) == .wrongWireType(field: 2))
        #expect(
            decodingError(RelayMessage.self, [0x0A, 0x02, 0x1A, 0x00]) == .wrongLength(field: 2, expected: 32)
        )
        #expect(decodingError(RelayMessage.self, [0x32, 0x02, 0x12, 0x00]) == .wrongWireType(field: 2))
        #expect(decodingError(AppMessage.self, [0x1A, 0x02, 0x0D, 0x00]) == .truncated)
        #expect(decodingError(AppMessage.self, [0x1A, 0x05, 0x0D, 0, 0, 0, 0]) == .wrongWireType(field: 1))
        #expect(decodingError(AgentMessage.self, [0x22, 0x00]) == .wrongLength(field: 2, expected: 16))
    }

    @Test("fields that are not known are passed over, wherever they are")
    func unknownFields() throws {
        let strangers: [UInt8] = [
            0xF8, 0x01, 0x96, 0x01,  // 31: varint
            0xF9, 0x01, 1, 2, 3, 4, 5, 6, 7, 8,  // 31: eight bytes
            0xFA, 0x01, 0x02, 0xFF, 0xFF,  // 31: two bytes
            0xFD, 0x01, 1, 2, 3, 4,  // 31: four bytes
            0xF8, 0xFF, 0xFF, 0xFF, 0x0F, 0x00,  // the largest field number
        ]
        func check(_ message: some CourierMessage) throws {
            let bytes = encoded(message)
            #expect(try type(of: message).init(decoding: (strangers + bytes).span) == message)
            #expect(try type(of: message).init(decoding: (bytes + strangers).span) == message)
        }
        try check(EnrollRequest(enrolmentKey: "k", name: "n", tags: ["a", "b"]))
        try check(EnrollResponse(deviceIdentity: Samples.device, deviceSecret: Samples.secret))
        try check(Samples.hello)
        try check(Samples.registered)
        try check(Samples.refused)
        try check(Samples.welcome)
        try check(Samples.bad)
        try check(Samples.fullDeliver)
        try check(DeviceMessage.register(topic: "a.b"))
        try check(RelayMessage.welcome(Samples.welcome))
        try check(AppMessage.handled([1]))
        try check(AgentMessage.refused(Samples.refused))
        #expect(try DeviceMessage(decoding: strangers.span) == .unknown)
        #expect(try RelayMessage(decoding: strangers.span) == .unknown)
        #expect(try AppMessage(decoding: strangers.span) == .unknown)
        #expect(try AgentMessage(decoding: strangers.span) == .unknown)
    }

    @Test("an unknown field inside an acknowledgement or a topic message is passed over")
    func unknownInside() throws {
        #expect(
            try DeviceMessage(decoding: [0x22, 0x05, 0x0A, 0x01, 0x07, 0x10, 0x01].span) == .acknowledge([7]))
        #expect(
            try DeviceMessage(decoding: [0x1A, 0x05, 0x10, 0x01, 0x0A, 0x01, 0x61].span)
                == .unregister(topic: "a"))
        #expect(
            try DeviceMessage(decoding: [0x12, 0x05, 0x18, 0x01, 0x0A, 0x01, 0x61].span)
                == .register(topic: "a"))
    }

    @Test("acknowledgements are read packed, unpacked and mixed")
    func packings() throws {
        let mixed: [UInt8] = [0x22, 0x0A, 0x08, 0x01, 0x0A, 0x03, 0x02, 0xAC, 0x02, 0x08, 0x80, 0x01]
        #expect(try DeviceMessage(decoding: mixed.span) == .acknowledge([1, 2, 300, 128]))
        #expect(decodingError(DeviceMessage.self, [0x22, 0x03, 0x0A, 0x01, 0x80]) == .truncated)
    }

    @Test("the last of a field that comes twice counts")
    func lastWins() throws {
        #expect(
            try Refused(decoding: [0x0A, 1, 0x61, 0x0A, 1, 0x62].span) == Refused(topic: "b", reason: ""))
        #expect(try DeviceMessage(decoding: [0x12, 0, 0x1A, 0].span) == .unregister(topic: ""))
    }

    @Test("varints longer than needed and integers wider than their field are read as protobuf reads them")
    func lenientIntegers() throws {
        #expect(try Goodbye(decoding: [0x08, 0x81, 0x80, 0x00].span).reason == .shutdown)
        let wide: [UInt8] = [0x10, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        #expect(try Goodbye(decoding: wide.span).retryAfterMilliseconds == .max)
    }

    @Test("values of a later version have a meaning")
    func laterValues() throws {
        #expect(try Goodbye(decoding: [0x08, 0x63].span).reason == .unspecified)
        for priority: UInt8 in [0, 2, 11, 0x7F] {
            let bytes = encoded(Samples.deliver(1)) + [0x28, priority]
            #expect(try Deliver(decoding: bytes.span).priority == .immediate)
        }
        let bytes = encoded(Samples.deliver(1)) + [0x42, 0x03] + Array("new".utf8)
        #expect(try Deliver(decoding: bytes.span).pushType == "new")
    }

    @Test("a report has bounded many events, and those of a later version are passed over")
    func reports() throws {
        let event = encoded(Report([Samples.report.events[0]]))
        let later = event.map { $0 == 0x01 ? 0x63 : $0 }
        #expect(try Report(decoding: (later + event).span).events == [Samples.report.events[0]])
        let many = Array(repeatElement(event, count: Limits.reportEvents + 9).joined())
        #expect(try Report(decoding: many.span).events.count == Limits.reportEvents)
        let events = [Report.Event](repeating: Samples.report.events[0], count: Limits.reportEvents + 9)
        #expect(Report(events).events.count == Limits.reportEvents)
        #expect(
            decodingError(Report.self, [0x0A, 0x03, 0x0A, 0x01, 0x00]) == .wrongLength(field: 1, expected: 16)
        )
    }

    @Test("an environment of a later version is refused: nobody could say where its token is good")
    func laterEnvironment() {
        #expect(decodingError(DeviceMessage.self, [0x12, 0x02, 0x10, 0x02]) == .unknownValue(field: 2))
        #expect(decodingError(AppMessage.self, [0x0A, 0x02, 0x10, 0x02]) == .unknownValue(field: 2))
        #expect(
            decodingError(Registered.self, encoded(Samples.registered) + [0x18, 0x02])
                == .unknownValue(field: 3))
    }

    @Test("an expiration at or before the epoch is now or never")
    func earlyExpiration() throws {
        let negative: [UInt8] = [0x30, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01]
        #expect(
            try Deliver(decoding: (encoded(Samples.deliver(1)) + negative).span).expiration == .nowOrNever)
        let notification = try Samples.notification(expiration: .at(Moment(milliseconds: -5)))
        let bytes = encoded(Deliver(notification, delivery: 1))
        #expect(try Deliver(decoding: bytes.span).expiration == .nowOrNever)
    }

    @Test("every error has a sentence and a status that is not OK")
    func errors() {
        let table: [(CourierError, GRPCStatus)] = [
            (.truncated, .invalidArgument), (.overlongVarint, .invalidArgument),
            (.invalidTag, .invalidArgument),
            (.group(field: 1), .invalidArgument), (.wrongWireType(field: 1), .invalidArgument),
            (.invalidText(field: 1), .invalidArgument),
            (.wrongLength(field: 1, expected: 12), .invalidArgument),
            (.textTooLong(field: 1, limit: 255), .invalidArgument),
            (.tooMany(field: 2, limit: 9), .invalidArgument), (.unknownValue(field: 2), .invalidArgument),
            (.messageTooLarge(bytes: 2, limit: 1), .resourceExhausted), (.compressed, .unimplemented),
            (.invalidPrefix, .internalError), (.outOfOrder("A sentence."), .failedPrecondition),
        ]
        for (error, status) in table {
            #expect(error.status == status)
            #expect(error.description.hasSuffix("."))
            #expect(
                error.goodbye
                    == Goodbye(reason: .protocolError, retryAfterMilliseconds: 0, detail: error.description))
        }
    }
}
