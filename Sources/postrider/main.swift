import PostriderCommands

// Everything is in `Program` and `Commands`.
Commands.program.main()
