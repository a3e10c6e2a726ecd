import PostriderCourier
import PostriderSeededRandom
import Testing

@testable import PostriderAgent

@Suite("What apps are told of the keyboard on screen")
struct KeyboardStateTests {
    /// A call of an input method, or the end of the movement's time, and what the apps are told.
    private struct Step {
        let order: KeyboardOrder?
        let told: [String]

        /// `to`: the height at which the keyboard stands on the lower edge of the screen; nil: it hides.
        static func move(to height: Int32?, for milliseconds: UInt32 = 250, _ told: String...) -> Step {
            let frame = height.map { KeyboardFrame(x: 0, y: 800 - $0, width: 1280, height: $0) }
            return Step(order: KeyboardOrder(frame: frame, durationMilliseconds: milliseconds), told: told)
        }

        static func arrive(_ told: String...) -> Step { Step(order: nil, told: told) }
    }

    private static let cases: [(name: String, steps: [Step])] = [
        (
            "it comes, and goes: change before show and hide, will before did",
            [
                .move(to: 300, "willChangeFrame 800-500", "willShow 800-500"),
                .arrive("didChangeFrame 800-500", "didShow 800-500"),
                .move(to: nil, "willChangeFrame 500-800", "willHide 500-800"),
                .arrive("didChangeFrame 500-800", "didHide 500-800"),
            ]
        ),
        (
            "another keyboard of the same size takes its place: nothing",
            [
                .move(to: 300, "willChangeFrame 800-500", "willShow 800-500"),
                .arrive("didChangeFrame 800-500", "didShow 800-500"),
                .move(to: 300), .arrive(), .move(to: 300, for: 0),
            ]
        ),
        (
            "and while it still comes: nothing either",
            [
                .move(to: 300, "willChangeFrame 800-500", "willShow 800-500"), .move(to: 300),
                .arrive("didChangeFrame 800-500", "didShow 800-500"), .arrive(),
            ]
        ),
        (
            "one of another size takes its place: it changes, and neither shows nor hides",
            [
                .move(to: 300, "willChangeFrame 800-500", "willShow 800-500"),
                .arrive("didChangeFrame 800-500", "didShow 800-500"),
                .move(to: 400, "willChangeFrame 500-400"), .arrive("didChangeFrame 500-400"),
            ]
        ),
        (
            "it does not take any time",
            [
                .move(
                    to: 300, for: 0, "willChangeFrame 800-500", "willShow 800-500", "didChangeFrame 800-500",
                    "didShow 800-500"),
                .arrive(),
            ]
        ),
        (
            "it goes before it has come: what had begun is told as done first",
            [
                .move(to: 300, "willChangeFrame 800-500", "willShow 800-500"),
                .move(
                    to: nil, "didChangeFrame 800-500", "didShow 800-500", "willChangeFrame 500-800",
                    "willHide 500-800"),
                .arrive("didChangeFrame 500-800", "didHide 500-800"),
            ]
        ),
        ("it hides where there is none: nothing", [.move(to: nil), .arrive()]),
    ]

    @Test("follows from where it is", arguments: cases.indices)
    func table(_ index: Int) {
        let (name, steps) = Self.cases[index]
        var state = KeyboardState()
        for step in steps {
            let changes = step.order.map { state.move($0) } ?? state.arrive()
            #expect(changes.map { "\($0.phase) \($0.begin.y)-\($0.end.y)" } == step.told, "\(name)")
        }
        #expect(!state.isMoving)
    }

    @Test("says how long it moves and how, each time")
    func movement() {
        var state = KeyboardState()
        let frame = KeyboardFrame(x: -5, y: 7, width: 9, height: 11)
        let order = KeyboardOrder(frame: frame, durationMilliseconds: 3, curve: .linear)
        for change in state.move(order) + state.arrive() {
            #expect(change.durationMilliseconds == 3 && change.curve == .linear)
            #expect(change.begin == KeyboardFrame(x: -5, y: 18, width: 9, height: 11) && change.end == frame)
        }
    }

    @Test("whatever it does, every will has its did, nothing is told twice, and show and hide take turns")
    func walks() {
        for seed in 0..<200 as Range<UInt64> {
            var generator = SplitMix64(seed: seed)
            var state = KeyboardState()
            var told: [KeyboardChange] = []
            for _ in 0..<60 {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: told += state.arrive()
                case 1: told += state.move(KeyboardOrder(frame: nil, durationMilliseconds: 5))
                default:
                    let height = Int32.random(in: 1...3, using: &generator)
                    let frame = KeyboardFrame(x: 0, y: 10 - height, width: 4, height: height)
                    let duration: UInt32 = Bool.random(using: &generator) ? 0 : 5
                    told += state.move(KeyboardOrder(frame: frame, durationMilliseconds: duration))
                }
            }
            told += state.arrive()
            check(told, seed)
        }
    }

    private func check(_ told: [KeyboardChange], _ seed: UInt64) {
        var expected: [KeyboardChange.Phase] = []
        var isShown = false
        for change in told {
            #expect(change.begin != change.end, "seed \(seed)")
            switch change.phase {
            case .willChangeFrame:
                #expect(expected.isEmpty, "seed \(seed)")
                expected = [.didChangeFrame]
            case .willShow, .willHide:
                #expect(
                    isShown == (change.phase == .willHide) && expected == [.didChangeFrame], "seed \(seed)")
                isShown.toggle()
                expected.append(change.phase == .willShow ? .didShow : .didHide)
            case .didChangeFrame, .didShow, .didHide:
                #expect(expected.first == change.phase, "seed \(seed)")
                expected = Array(expected.dropFirst())
            }
        }
        #expect(expected.isEmpty, "seed \(seed)")
    }
}
