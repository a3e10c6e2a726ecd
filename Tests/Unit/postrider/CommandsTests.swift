import PostriderOptions
import Testing

@testable import postrider

@Suite("The table of commands")
struct CommandsTests {
    @Test("finds each command by its name, which no other has")
    func names() {
        for command in Commands.all { #expect(Commands.named(command.name) == command) }
        #expect(Set(Commands.all.map { $0.name }).count == Commands.all.count)
        #expect(Commands.named("nonsense") == nil)
    }

    @Test(
        "answers wrong usage with exit code 2, and what was asked for with 0",
        arguments: [
            (["nonsense"], 2), ([], 2), (["keys"], 2), (["keys", "nonsense"], 2), (["agent", "nonsense"], 2),
            (["--nonsense"], 2),
            (["--help"], 0), (["--version"], 0),
        ] as [([String], Int32)]
    )
    func exitCodes(_ arguments: [String], _ code: Int32) async {
        #expect(await Commands.run(arguments) == code)
    }

    @Test("has a help for every command")
    func help() async {
        for action in AgentActions.all {
            #expect(await Commands.run(["agent", action.name, "--help"]) == 0)
            #expect(!AgentCommand.endsInGoodOrder([action.name]))
        }
        #expect(AgentCommand.endsInGoodOrder(["--relay", "status"]))
        for command in Commands.all {
            #expect(await Commands.run([command.name, "--help"]) == 0)
            guard let command = command as? any OperatorCommand.Type else { continue }
            for action in command.actions {
                #expect(await Commands.run([command.name, action.name, "--help"]) == 0)
            }
        }
    }
}
