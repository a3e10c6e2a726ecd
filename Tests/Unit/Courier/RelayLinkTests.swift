import PostriderCourier
import PostriderNotifications
import Testing

@Suite struct RelayLinkTests {
    private enum Stage: CaseIterable { case awaitingHello, awaitingWelcome, open, closing, closed }

    /// Makes a link at a stage.
    private func link(at stage: Stage) throws -> RelayLink {
        var link = RelayLink(window: 4)
        if stage == .awaitingHello { return link }
        #expect(try link.receive(.hello(Samples.hello)) == .hello(Samples.hello))
        if stage == .awaitingWelcome { return link }
        _ = link.welcome(keepaliveSeconds: 60, registrations: [], pending: 0)
        if stage == .open { return link }
        _ = link.goodbye(.shutdown, retryAfterMilliseconds: 0, detail: "")
        if stage == .closing { return link }
        _ = try link.receive(.goodbye(Samples.off))
        return link
    }

    private enum Outcome: Equatable { case event(RelayLink.Event?), error }

    private func outcome(_ message: DeviceMessage, at stage: Stage) throws -> Outcome {
        var link = try link(at: stage)
        do throws(CourierError) {
            return .event(try link.receive(message))
        } catch {
            #expect(error.status == .failedPrecondition)
            #expect(!link.isOpen)
            #expect(try link.receive(message) == nil, "after an error everything is ignored")
            return .error
        }
    }

    @Test("every message in every state does what the table says")
    func transitions() throws {
        let bye = RelayLink.Event.goodbye(Samples.off)
        let webPush = RegisterWebPush(topic: "web-push.a", senderKey: [4])
        // Columns: awaitingHello, awaitingWelcome, open, closing, closed.
        let table: [(DeviceMessage, [Outcome])] = [
            (
                .hello(Samples.hello),
                [.event(.hello(Samples.hello)), .error, .error, .event(nil), .event(nil)]
            ),
            (
                .register(topic: "a"),
                [.error, .error, .event(.register(topic: "a")), .event(nil), .event(nil)]
            ),
            (
                .registerWebPush(webPush),
                [.error, .error, .event(.registerWebPush(webPush)), .event(nil), .event(nil)]
            ),
            (
                .unregister(topic: "a"),
                [.error, .error, .event(.unregister(topic: "a")), .event(nil), .event(nil)]
            ),
            (
                .subscribe(Samples.subscribe),
                [.error, .error, .event(.subscribe(Samples.subscribe)), .event(nil), .event(nil)]
            ),
            (
                .unsubscribe(Samples.channel),
                [.error, .error, .event(.unsubscribe(Samples.channel)), .event(nil), .event(nil)]
            ),
            (
                .report(Samples.report),
                [.error, .error, .event(.reported(Samples.report)), .event(nil), .event(nil)]
            ),
            (.report(Report([])), [.error, .error, .event(nil), .event(nil), .event(nil)]),
            (
                .reception(Samples.reception),
                [.error, .error, .event(.reception(Samples.reception)), .event(nil), .event(nil)]
            ),
            (.fetch, [.error, .error, .event(.fetch), .event(nil), .event(nil)]),
            (
                .acknowledge([3, 1]),
                [.error, .error, .event(.acknowledged([3, 1])), .event(.acknowledged([3, 1])), .event(nil)]
            ),
            (.acknowledge([]), [.error, .error, .event(nil), .event(nil), .event(nil)]),
            (.goodbye(Samples.off), [.event(bye), .event(bye), .event(bye), .event(bye), .event(nil)]),
            (.unknown, Array(repeating: .event(nil), count: 5)),
        ]
        for (message, outcomes) in table {
            for (stage, expected) in zip(Stage.allCases, outcomes) {
                #expect(try outcome(message, at: stage) == expected, "\(message) at \(stage)")
            }
        }
    }

    @Test("a link is open from its welcome to its goodbye")
    func openness() throws {
        for stage in Stage.allCases { #expect(try link(at: stage).isOpen == (stage == .open)) }
    }

    @Test("an acknowledgement of what is not under way ends the link", arguments: [Stage.open, .closing])
    private func wrongAcknowledgement(at stage: Stage) throws {
        var link = try link(at: stage)
        let error = link.refuse(acknowledgementOf: 4)
        #expect(error.status == .failedPrecondition && error.goodbye.reason == .protocolError)
        #expect(error.description.contains("Delivery 4 is not under way"))
        #expect(try link.receive(.acknowledge([1])) == nil, "after an error everything is ignored")
    }

    @Test("a goodbye is said once, in any state before the end")
    func goodbyes() throws {
        for stage in Stage.allCases {
            var link = try link(at: stage)
            let first = link.goodbye(.replaced, retryAfterMilliseconds: 5, detail: "x")
            if stage == .closing || stage == .closed {
                #expect(first == nil)
            } else {
                #expect(first == Goodbye(reason: .replaced, retryAfterMilliseconds: 5, detail: "x"))
            }
            #expect(link.goodbye(.shutdown, retryAfterMilliseconds: 0, detail: "") == nil)
            #expect(!link.isOpen)
        }
    }

    @Test("the welcome carries the window of the link")
    func welcome() throws {
        var link = try link(at: .awaitingWelcome)
        let welcome = link.welcome(keepaliveSeconds: 60, registrations: [Samples.registered], pending: 9)
        #expect(
            welcome
                == Welcome(keepaliveSeconds: 60, window: 4, registrations: [Samples.registered], pending: 9)
        )
    }

    @Test(
        "a wished keepalive is granted within the bounds",
        arguments: [(0, 45), (1, 5), (5, 5), (299, 299), (1800, 1800), (1801, 1800), (.max, 1800)]
            as [(UInt32, UInt32)]
    )
    func keepalive(_ wished: UInt32, _ granted: UInt32) {
        let hello = Hello(
            deviceIdentity: Samples.device,
            deviceSecret: Samples.secret,
            keepaliveSeconds: wished,
            agent: ""
        )
        #expect(hello.grantedKeepaliveSeconds == granted)
    }

    @Test("each goodbye's reason ends a stream with its status")
    func statuses() {
        let statuses: [GRPCStatus] = [
            .unavailable, .unavailable, .aborted, .unauthenticated, .resourceExhausted, .failedPrecondition,
            .aborted, .unavailable,
        ]
        #expect(Goodbye.Reason.allCases.map(\.status) == statuses)
    }
}
