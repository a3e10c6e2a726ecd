import PostriderCourier
import PostriderOptions
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("The keyboard of the command line")
struct KeyboardActionTests {
    private func order(_ words: String) throws -> KeyboardOrder {
        let table = try #require(AgentActions.all.first { $0.name == "keyboard" }).table
        return try KeyboardAction.order(table.parse(words.split(separator: " ").map(String.init)))
    }

    @Test("shows where it is told to, as it is told to, and hides")
    func orders() throws {
        let frame = KeyboardFrame(x: 0, y: -5, width: 1280, height: 300)
        #expect(
            try order("show --frame 0,-5,1280,300 --duration 0 --curve ease-out")
                == KeyboardOrder(frame: frame, durationMilliseconds: 0, curve: .easeOut))
        #expect(try order("hide") == KeyboardOrder(frame: nil, durationMilliseconds: 250))
    }

    @Test(
        "is refused what is no order",
        arguments: [
            "show", "show --frame 1,2,3", "show --frame 1,2,3,4,", "show --frame a,b,c,d", "blink",
            "hide --duration 10001", "hide --curve wild",
        ])
    func mistakes(_ words: String) {
        #expect(throws: UsageError.self) { try order(words) }
    }
}
