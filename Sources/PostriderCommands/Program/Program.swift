import Glibc
import PostriderCrypto
package import PostriderOptions
import PostriderSystem
import PostriderTransport

/// One of the programs of this package. It selects the command to run, and reports its errors.
package struct Program: Sendable {
    /// The version of all programs. It is defined only here; `RELEASING.md` says when it changes. `--version` prints
    /// it, devices report it to their relay, and the Debian packages take it from here.
    package static let version = "0.1.0"

    /// The name of the program, as the user types it.
    package var name: String { table.command }
    /// The options of the program without a command.
    package let table: OptionTable
    /// All commands, in the order of the help.
    package let commands: [any Command.Type]
    /// The command that runs where the first argument is no name of another one; nil if there must be a name.
    private let service: (any Command.Type)?

    /// The options of the actions that need no command before them.
    package var actions: [OptionTable] { service?.actionTables ?? [] }

    /// Creates a program from its parts.
    package init(_ table: OptionTable, _ commands: [any Command.Type], service: (any Command.Type)? = nil) {
        self.table = table
        self.commands = commands
        self.service = service
    }

    /// The command with this name; nil if there is none.
    package func command(named name: String) -> (any Command.Type)? { commands.first { $0.name == name } }

    /// Runs the program: sets up what must be done before the first thread starts, and then runs one command. Only
    /// `main.swift` calls this.
    package func main() -> Never {
        // Files that the process creates are only for this user: keys, databases, sockets.
        umask(0o077)
        Descriptors.occupyStandard()
        Signals.ignoreBrokenPipes()
        Descriptors.raiseLimit()
        OpenSSL.stayUntilExit()
        let arguments = Array(CommandLine.arguments.dropFirst())
        if let (command, rest) = choice(arguments), command.endsInGoodOrder(rest) {
            Termination.block(for: command)
            CrashFlush.waitForLog()
        }
        // The main thread only waits: commands run on the threads of Swift's concurrency, and start threads of their
        // own.
        Task.detached {
            let code = await run(arguments)
            Console.end()
            exit(code)
        }
        while true { pause() }
    }

    /// Runs the command that a command line names and returns the exit code. An error becomes one line on stderr.
    package func run(_ arguments: [String]) async -> Int32 {
        do {
            let code = try await choose(arguments)
            return code == 0 && Console.isIncomplete ? 1 : code
        } catch let error as UsageError {
            Console.complain(error.description)
            return 2
        } catch let failure as CommandFailure {
            Console.complain("postrider: \(failure.sentence)")
            return failure.exitCode
        } catch {
            Console.complain("postrider: \(error)")
            return 1
        }
    }

    /// The command that a command line names, and its arguments; nil if it names none.
    private func choice(_ arguments: [String]) -> (command: any Command.Type, arguments: [String])? {
        if let command = arguments.first.flatMap(command(named:)) {
            return (command, Array(arguments.dropFirst()))
        }
        return service.map { ($0, arguments) }
    }

    private func choose(_ arguments: [String]) async throws -> Int32 {
        if let (command, rest) = choice(arguments) { return try await command.run(rest) }
        if let name = arguments.first, !name.hasPrefix("-") {
            throw UsageError(
                "\(self.name): there is no command '\(name)'; '\(self.name) --help' lists the commands")
        }
        guard let options = try table.parseOrHelp(arguments) else { return 0 }
        guard options.isSet(Self.versionOption.name) else {
            throw UsageError("\(name): COMMAND is missing; '\(name) --help' lists the commands")
        }
        Console.say("postrider \(Self.version)")
        return 0
    }

    /// The option of every program that prints its version.
    package static let versionOption = Option.flag("version", "Print the version.")
}
