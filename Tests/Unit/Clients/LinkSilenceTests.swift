import PostriderCourier
import PostriderTransport
import Testing

@testable import PostriderClients

@Suite("The end of a device's link")
struct LinkSilenceTests {
    /// An event on a link, with its second since the link began.
    enum Event: Sendable {
        case said, heard, pinged, ponged, overdue
    }

    struct Life: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let events: [(Int, Event)]
        let end: (second: Int, reason: CloseReason)
        let cut: PathKeepalive.Cut?
    }

    static let lives = [
        Life(
            testDescription: "closed after 50 seconds without a word is cut",
            events: [(0, .said), (1, .heard)],
            end: (51, .peerClosed), cut: .closed(silentSeconds: 50)),
        Life(
            testDescription: "reset is likewise", events: [(1, .heard)], end: (31, .peerReset),
            cut: .closed(silentSeconds: 30)),
        Life(
            testDescription: "closed soon after something was said is not cut for silence",
            events: [(0, .heard), (40, .said)], end: (41, .peerClosed), cut: nil),
        Life(
            testDescription: "that has borne as long a silence before is not",
            events: [(0, .heard), (40, .pinged), (40, .ponged)], end: (80, .peerClosed), cut: nil),
        Life(
            testDescription: "that has borne one until something came is not, either",
            events: [(0, .said), (40, .heard)], end: (80, .peerClosed), cut: nil),
        Life(
            testDescription: "that has borne less than that is cut",
            events: [(0, .heard), (20, .pinged), (20, .ponged)], end: (60, .peerClosed),
            cut: .closed(silentSeconds: 40)),
        Life(
            testDescription: "whose PING is not answered is cut after the silence before that",
            events: [(0, .heard), (45, .pinged), (65, .overdue)], end: (65, .idleTimeout),
            cut: .unanswered(silentSeconds: 45)),
        Life(
            testDescription: "that breaks the protocol says nothing of its path", events: [(0, .heard)],
            end: (50, .protocolError("x")), cut: nil),
        Life(
            testDescription: "that this side closed says nothing", events: [(0, .heard)],
            end: (50, .localClose), cut: nil),
    ]

    @Test("says whether its path does not bear silence", .bug(id: "R18"), arguments: lives)
    func life(_ life: Life) {
        func moment(_ second: Int) -> UInt64 { UInt64(1000 + second) * 1_000_000_000 }
        var silence = LinkSilence()
        silence.said(at: moment(0))
        for (second, event) in life.events {
            switch event {
            case .said: silence.said(at: moment(second))
            case .heard: silence.heard(at: moment(second))
            case .pinged: silence.pinged(at: moment(second))
            case .ponged: _ = silence.ponged(at: moment(second), interval: 40)
            case .overdue: silence.pongIsOverdue()
            }
        }
        #expect(silence.cut(life.end.reason, at: moment(life.end.second)) == life.cut)
    }

    @Test(
        "counts an answered PING for its interval only where nothing was said in most of it", .bug(id: "R18"))
    func answers() {
        func borne(_ seconds: UInt64) -> Int? {
            var silence = LinkSilence()
            silence.said(at: 0)
            silence.pinged(at: seconds * 1_000_000_000)
            return silence.ponged(at: (seconds + 1) * 1_000_000_000, interval: 40)
        }
        #expect(borne(40) == 40 && borne(36) == 36)
        #expect(borne(35) == nil)
    }
}
