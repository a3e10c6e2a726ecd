import PostriderCommands

/// The program `postrider-agent`: all that a device needs, and nothing of a relay. Without the name of a command it
/// runs the agent.
enum AgentProgram {
    /// The commands besides the agent itself and its actions, in the order of the help.
    static let commands: [any Command.Type] = [
        AgentCheckCommand.self, AgentDoctorCommand.self, Completion.self, Manual.self,
    ]

    static let program = Program(AgentCommand.table, commands, service: AgentCommand.self)

    private enum Completion: CompletionCommand {
        static var program: Program { AgentProgram.program }
    }

    private enum Manual: ManualCommand {
        static var program: Program { AgentProgram.program }
    }
}
