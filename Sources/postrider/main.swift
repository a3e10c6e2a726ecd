import Glibc
import PostriderCrypto
import PostriderTransport

// The process: what must happen before its first thread starts, then one command. All else is in `Commands`.

// What is written is for this user alone: keys, databases, sockets.
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

// The main thread has nothing to do: commands run on the threads of Swift's concurrency, and start their own.
Task.detached {
    let code = await Commands.run(arguments)
    Console.end()
    exit(code)
}
while true { pause() }
