import Foundation
import PostriderOptions
import Testing

@testable import PostriderCommands
@testable import postrider

extension EndToEnd {
    /// A command that is not in one of the two lists fails the first test.
    @Suite("The option -d FOLDER", .serialized)
    struct FolderTests {
        private static let identity = UUID().uuidString

        /// The commands that ask or change a relay, in the order in which the test runs them, and their further
        /// arguments. FOLDER stands for the folder of the relay.
        private static let operators: [(command: String, arguments: [String])] = [
            ("status", []), ("captures", []), ("trace", [identity]), ("audit", []), ("token", []),
            ("evidence", [identity]), ("evidence key", []), ("console login", []),
            ("devices list", []), ("devices rename", ["kiosk-7", "kiosk-8"]),
            ("devices tag", ["kiosk-8", "lobby"]),
            ("send", ["--tag", "lobby", "--wait", "done", "--alert", "x"]),
            ("devices untag", ["kiosk-8", "lobby"]),
            ("keys list", []), ("keys revoke", ["DEVKEY0001"]), ("keys remove", ["DEVKEY0001"]),
            ("keys add", ["FOLDER/AuthKey_DEVKEY0001.p8", "--team-id", "DEVTEAM001"]),
            ("topics add", ["com.example.other", "--team-id", "DEVTEAM001"]), ("topics list", []),
            ("topics remove", ["com.example.other"]), ("channels", ["create"]), ("channels", ["list"]),
            ("enrolment-keys add", ["kiosks"]), ("enrolment-keys list", []),
            ("enrolment-keys remove", ["kiosks"]),
            ("send-tokens add", ["cron", "--topic", "com.example.other"]), ("send-tokens list", []),
            ("send-tokens remove", ["cron"]), ("backup", ["FOLDER/data/copy"]),
            ("devices remove", ["kiosk-8"]),
        ]

        /// The other commands, and what they are about in place of a relay that runs in the folder.
        private static let others = [
            "agent": "the agent", "dev": "it makes the folder", "serve": "a configuration",
            "check": "a configuration", "doctor": "the machine", "move": "two stores",
            "captures anonymise": "a file", "evidence verify": "a file",
            "certificates": "a folder of its own",
            "nodes": "a cluster", "completion": "the program", "manual": "the program",
            // They take the folder's relay as any other command of a provider or a device: LoadTests, DeviceTests and
            // CapturesPortTests run them so.
            "device": "a device", "load": "many devices", "replay": "a provider",
            // It never ends, and is run beside the others.
            "devices watch": "",
        ]

        @Test("is known to every command that asks or changes a relay")
        func table() {
            let known = Set(Self.operators.map(\.command))
            for command in Commands.all {
                let own = command is any OperatorCommand.Type ? [] : [command.table]
                for table in own + command.actionTables {
                    let name = String(table.command.dropFirst("postrider ".count))
                    let isOther = Self.others[name] != nil || Self.others[command.name] != nil
                    #expect(known.contains(name) != isOther, "\(name) is not in exactly one of the lists")
                    guard known.contains(name) || table.options.contains(where: { $0.name == "control" })
                    else {
                        continue
                    }
                    let folder = table.options.first { $0.name == "directory" }
                    #expect(folder?.short == "d", "\(name) has no -d FOLDER")
                }
            }
        }

        @Test("selects the relay of 'postrider dev' for each of them")
        func commands() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let folder = stage.path("dev")
                let watch = try stage.start("postrider", ["devices", "watch", "--json", "-d", folder])
                try stage.handle("exit 0", topic: relay.topic)
                _ = try await stage.startAgent(
                    of: relay, options: ["--apps-directory", stage.path("apps"), "--device-name", "kiosk-7"])
                let token = try await stage.token(of: relay)
                let send = try stage.send([
                    "--alert", "x", "--wait", "done", "--timeout", "2m", "--apns-id", Self.identity, token,
                ])
                #expect(try await send.exitCode() == 0, "\(send.transcript)")
                for (command, arguments) in Self.operators {
                    let words = command.split(separator: " ").map(String.init)
                    let program = try stage.start(
                        "postrider",
                        words + arguments.map { $0.replacing("FOLDER", with: folder) } + ["-d", folder])
                    #expect(try await program.exitCode() == 0, "\(command): \(program.transcript)")
                }
                try await watch.line { $0.contains("removed") && $0.contains("kiosk-8") }
            }
        }
    }
}
