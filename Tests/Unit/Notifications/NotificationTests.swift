import PostriderNotifications
import Testing

@Suite struct NotificationTests {
    @Test("a push type is read from exactly its name")
    func pushTypes() {
        let names = [
            "alert", "background", "complication", "controls", "fileprovider", "liveactivity", "location",
            "mdm",
            "pushtotalk", "voip", "widgets",
        ]
        #expect(PushType.allCases.map(\.rawValue) == names)
        for type in PushType.allCases { #expect(PushType(Array(type.rawValue.utf8).span) == type) }
        for text in ["", "Alert", "alert ", " alert", "alerts", "aler", "vo\u{0}p", "none"] {
            #expect(PushType(Array(text.utf8).span) == nil, "\(text)")
        }
    }

    @Test("only Voice over IP may have the larger payload")
    func payloadLimits() {
        for type in PushType.allCases { #expect(type.rule.payloadBytes == (type == .voip ? 5120 : 4096)) }
    }

    @Test("a topic's suffix is that of a push type behind a bundle identifier, byte for byte")
    func topicSuffixes() throws {
        let table: [(text: String, type: PushType?, bundle: String)] = [
            ("com.example.app", nil, "com.example.app"), ("com.example.app.voip", .voip, "com.example.app"),
            ("a.voip-ptt", .pushtotalk, "a"), ("a.push-type.liveactivity", .liveactivity, "a"),
            ("a.pushkit.fileprovider", .fileprovider, "a"), ("a.voip.voip", .voip, "a.voip"),
            (".voip", nil, ".voip"), ("voip", nil, "voip"), ("a.VoIP", nil, "a.VoIP"),
            ("com.example.complication", .complication, "com.example"),
        ]
        for (text, type, bundle) in table {
            let topic = try #require(Topic(text))
            #expect(topic.suffixType == type && topic.bundle == Topic(bundle), "\(text)")
        }
    }

    @Test("a priority is 1, 5 or 10 and nothing else")
    func priorities() {
        for (text, priority) in [("1", .low), ("5", .considerate), ("10", .immediate)] as [(String, Priority)]
        {
            #expect(Priority(Array(text.utf8).span) == priority)
        }
        for text in ["", "0", "2", "9", "11", "010", "1 ", "+5", "-1", "100", "ten"] {
            #expect(Priority(Array(text.utf8).span) == nil, "\(text)")
        }
        #expect(Priority.allCases.sorted() == [.low, .considerate, .immediate])
    }

    @Test("bytes spell a text when they are its UTF-8")
    func spelling() {
        let table =
            [("Küche", "Küche", true), ("", "", true), ("", "K", false), ("K", "", false)]
            + ["Kuche", "Küch", "Küchen", "küche"].map { ("Küche", $0, false) }
        for (bytes, text, expected) in table {
            let spelled = Array(bytes.utf8).span.spells(text)
            #expect(spelled == expected, "\(bytes) and \(text)")
        }
    }

    @Test("moments neither overflow nor lose their order")
    func moments() {
        #expect(Moment(seconds: 1_700_000_000).milliseconds == 1_700_000_000_000)
        #expect(Moment(seconds: -1).milliseconds == -1000)
        #expect(Moment(seconds: .max).milliseconds == .max)
        #expect(Moment(seconds: .min).milliseconds == .min)
        #expect(Moment(seconds: .max / 1000).milliseconds == .max / 1000 * 1000)
        #expect(Moment(seconds: .max / 1000 + 1).milliseconds == .max)
        #expect(Moment(milliseconds: 1) < Moment(milliseconds: 2))
        #expect(!(Moment(milliseconds: 2) < Moment(milliseconds: 2)))
        #expect(Moment(milliseconds: 5).advanced(byMilliseconds: 7).milliseconds == 12)
        #expect(Moment(milliseconds: 5).advanced(byMilliseconds: -7).milliseconds == -2)
        #expect(Moment(milliseconds: 5).advanced(byMilliseconds: .max).milliseconds == .max)
    }

    private func slot(
        _ identity: UInt64,
        collapse: String? = nil,
        registration: UInt32 = 1,
        device: UInt32 = 1
    ) throws -> Slot {
        Notification(
            identity: NotificationIdentity(high: 0, low: identity),
            device: DeviceIdentity(high: 0, low: device),
            registration: RegistrationNumber(registration),
            topic: try #require(Topic("com.example.app")),
            pushType: nil,
            priority: .immediate,
            expiration: .nowOrNever,
            collapseIdentifier: collapse,
            payload: [],
            acceptedAt: Moment(milliseconds: Int64(identity))
        ).slot
    }

    @Test("notifications share a slot when they collapse, or when one is a resend of the other")
    func slots() throws {
        #expect(try slot(1) == slot(1))
        #expect(try slot(1) != slot(2))
        #expect(try slot(1) != slot(1, registration: 2))
        #expect(try slot(1, collapse: "a") == slot(2, collapse: "a"))
        #expect(try slot(1, collapse: "a") != slot(1, collapse: "b"))
        #expect(try slot(1, collapse: "a") != slot(1, collapse: "a", registration: 2))
        #expect(try slot(1, collapse: "a") != slot(1))
        #expect(
            try Set([slot(1), slot(1), slot(2), slot(3, collapse: "a"), slot(4, collapse: "a")]).count == 3)
    }

    @Test("a batch is empty until something is in it")
    func batches() {
        var batch = QueueBatch()
        #expect(batch.isEmpty)
        batch.settled.append(QueueRow(1))
        #expect(!batch.isEmpty)
    }

    @Test("log levels have syslog's numbers")
    func logLevels() {
        #expect(Log.Level.allCases.map(\.rawValue) == [3, 4, 5, 6, 7])
        #expect(Log.Level.allCases.sorted() == [.error, .warning, .notice, .info, .debug])
    }
}
