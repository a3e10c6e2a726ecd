import PostriderCommands

// Everything is in `Program` and `AgentProgram`.
AgentProgram.program.main()
