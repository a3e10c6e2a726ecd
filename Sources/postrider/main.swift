import Glibc
import PostriderCrypto
import PostriderSystem
import PostriderTransport

// This sets up what must be done before the first thread starts, and then runs one command. Everything else is in
// `Commands`.

// Files that the process creates are only for this user: keys, databases, sockets.
umask(0o077)
Descriptors.occupyStandard()
Signals.ignoreBrokenPipes()
Descriptors.raiseLimit()
OpenSSL.stayUntilExit()
let arguments = Array(CommandLine.arguments.dropFirst())
if let command = arguments.first.flatMap(Commands.named),
    command.endsInGoodOrder(Array(arguments.dropFirst()))
{
    Termination.block(for: command)
    LastWords.waitForLog()
}

// The main thread only waits: commands run on the threads of Swift's concurrency, and start threads of their own.
Task.detached {
    let code = await Commands.run(arguments)
    Console.end()
    exit(code)
}
while true { pause() }
