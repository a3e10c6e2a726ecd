import PostriderOptions
import Testing

@testable import PostriderCommands
@testable import postrider
@testable import postrider_agent

@Suite("The table of commands")
struct CommandsTests {
    @Test("finds each command by its name, which no other has")
    func names() {
        for command in Commands.all { #expect(Commands.program.command(named: command.name) == command) }
        #expect(Set(Commands.all.map { $0.name }).count == Commands.all.count)
        #expect(Commands.program.command(named: "nonsense") == nil)
    }

    @Test(
        "answers wrong usage with exit code 2, and what was asked for with 0",
        arguments: [
            (["nonsense"], 2), ([], 2), (["keys"], 2), (["keys", "nonsense"], 2), (["--nonsense"], 2),
            (["--help"], 0), (["--version"], 0),
        ] as [([String], Int32)]
    )
    func exitCodes(_ arguments: [String], _ code: Int32) async {
        #expect(await Commands.program.run(arguments) == code)
    }

    @Test("has a help for every action and command of the agent's program")
    func agentHelp() async {
        for action in AgentActions.all {
            #expect(await AgentProgram.program.run([action.name, "--help"]) == 0)
            #expect(!AgentCommand.endsInGoodOrder([action.name]))
        }
        #expect(AgentCommand.endsInGoodOrder(["--relay", "status"]))
        for command in AgentProgram.commands {
            #expect(await AgentProgram.program.run([command.name, "--help"]) == 0)
        }
        for (arguments, code) in [
            (["nonsense"], 2), (["--nonsense"], 2), (["--help"], 0), (["--version"], 0),
        ]
            as [([String], Int32)]
        {
            #expect(await AgentProgram.program.run(arguments) == code)
        }
    }

    @Test("names the file that is missing where there is no program of the agent")
    func handOver() {
        let failure = HandOverCommand.handOver(to: "/nowhere/postrider-agent", ["status"])
        #expect(failure.exitCode == 1)
        #expect(failure.sentence.contains("/nowhere/postrider-agent cannot be started"))
    }

    @Test("has a help for every command")
    func help() async {
        // Handing over would end the tests.
        for command in Commands.all where command != HandOverCommand.self {
            #expect(await Commands.program.run([command.name, "--help"]) == 0)
            guard let command = command as? any OperatorCommand.Type else { continue }
            for action in command.actions {
                #expect(await Commands.program.run([command.name, action.name, "--help"]) == 0)
            }
        }
    }
}
