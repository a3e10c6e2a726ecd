import PostriderNotifications
import Testing

@testable import PostriderCourier

@Suite("The keepalive of a network path")
struct PathKeepaliveTests {
    /// An event on a link, and the seconds between PINGs after it.
    enum Step: Sendable {
        case cut(PathKeepalive.Cut)
        /// This many PINGs in a row are answered, each after a whole interval of silence.
        case borne(Int)
    }

    static let lives: [(name: String, steps: [(Step, seconds: Int)])] = [
        (
            "a proxy's 50 seconds",
            [(.cut(.closed(silentSeconds: 50)), 40), (.borne(89), 40), (.borne(1), 50)]
        ),
        (
            "a trial that fails is repeated half as often",
            [
                (.cut(.closed(silentSeconds: 50)), 40), (.borne(90), 50),
                (.cut(.closed(silentSeconds: 50)), 40),
                (.borne(90), 40), (.borne(90), 50), (.cut(.closed(silentSeconds: 50)), 40),
                (.borne(270), 40), (.borne(90), 50),
            ]
        ),
        (
            "a NAT that forgets in silence",
            [
                (.cut(.unanswered(silentSeconds: 60)), 40), (.cut(.unanswered(silentSeconds: 40)), 26),
                (.cut(.unanswered(silentSeconds: 26)), 17),
            ]
        ),
        (
            "never below the bound",
            [
                (.cut(.closed(silentSeconds: 12)), 10), (.cut(.closed(silentSeconds: 9)), 10),
                (.cut(.unanswered(silentSeconds: 10)), 10),
            ]
        ),
        (
            "grows back to what is granted",
            [(.cut(.closed(silentSeconds: 60)), 48), (.borne(75), 60), (.borne(1000), 60)]
        ),
        ("what bears everything stays", [(.borne(1000), 60)]),
        (
            "one cut of a path that bore as much before is forgiven",
            [(.borne(1), 60), (.cut(.closed(silentSeconds: 50)), 60), (.cut(.closed(silentSeconds: 50)), 40)]
        ),
    ]

    @Test("learns what the path bears, and grows again slowly", .bug(id: "R18"), arguments: lives.indices)
    func life(_ index: Int) {
        var keepalive = PathKeepalive()
        var found: [Int] = []
        for (step, _) in Self.lives[index].steps {
            switch step {
            case .cut(let cut): _ = keepalive.cut(cut, granted: 60)
            case .borne(let count):
                for _ in 0..<count {
                    _ = keepalive.answered(afterSeconds: keepalive.seconds(granted: 60), granted: 60)
                }
            }
            found.append(keepalive.seconds(granted: 60))
        }
        #expect(found == Self.lives[index].steps.map(\.seconds), "\(Self.lives[index].name)")
    }

    @Test("concludes nothing from an end that silence has not caused", .bug(id: "R18"))
    func judgement() {
        #expect(
            PathKeepalive.Cut(isUnanswered: false, silentSeconds: 50, borneSeconds: 45)
                == .closed(silentSeconds: 50))
        #expect(
            PathKeepalive.Cut(isUnanswered: true, silentSeconds: 60, borneSeconds: 0)
                == .unanswered(silentSeconds: 60))
        #expect(PathKeepalive.Cut(isUnanswered: false, silentSeconds: 50, borneSeconds: 60) == nil)
        #expect(PathKeepalive.Cut(isUnanswered: false, silentSeconds: 9, borneSeconds: 0) == nil)
    }

    @Test("is below the time after which proxies usually close a silent connection", .bug(id: "R18"))
    func usual() {
        let hello = Hello(
            deviceIdentity: Samples.device, deviceSecret: Samples.secret, keepaliveSeconds: 0, agent: "")
        #expect(hello.grantedKeepaliveSeconds == 45)
    }

    @Test("is remembered for each path, the last ones", .bug(id: "R18"))
    func paths() {
        var paths = PathKeepalives()
        for number in 0...Limits.keepalivePaths {
            _ = paths["\(number)"].cut(.closed(silentSeconds: 30 + number), granted: 60)
        }
        #expect(paths["0"].seconds(granted: 60) == 60)
        #expect(paths["1"].seconds(granted: 60) == 24 && paths["16"].seconds(granted: 60) == 36)
    }
}
