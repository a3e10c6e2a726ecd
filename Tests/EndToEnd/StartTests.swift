import Foundation
import Testing

extension EndToEnd {
    @Suite("A relay that cannot start says why in one sentence", .serialized)
    struct StartTests {
        /// The files of a relay that has started once, and options for the start of another one.
        private struct Fixture {
            let folder: String
            var certificate: String { folder + "/relay.pem" }
            var key: String { folder + "/relay.key" }

            func options(certificate: String? = nil, key: String? = nil, data: String, port: Int = 0)
                -> [String]
            {
                [
                    "serve", "--certificate", certificate ?? self.certificate, "--private-key",
                    key ?? self.key,
                    "--data-directory", data, "--provider-address", "127.0.0.1:\(port)",
                    "--device-address", "127.0.0.1:0",
                ]
            }

            init(_ stage: Stage) async throws {
                let relay = try await stage.startRelay()
                folder = stage.path("dev")
                relay.program.send(SIGTERM)
                let exitCode = try await relay.program.exitCode()
                #expect(exitCode == 0)
            }
        }

        /// Runs a command that must fail, and returns its message.
        private func sentence(of arguments: [String], exitCode: Int32, on stage: Stage) async throws -> String
        {
            let program = try stage.start("postrider", arguments)
            #expect(try await program.exitCode() == exitCode, "\(program.transcript)")
            #expect(program.output.isEmpty)
            #expect(program.errors.count == 1, "\(program.errors)")
            return program.errors.joined()
        }

        @Test("about its certificate and its key")
        func paper() async throws {
            try await onStage { stage in
                let fixture = try await Fixture(stage)
                let data = stage.path("data")
                let missing = stage.path("missing.pem")
                let junk = try stage.write("no certificate", to: "junk.pem")
                for options in [
                    fixture.options(certificate: missing, data: data),
                    fixture.options(key: missing, data: data),
                ] {
                    #expect(try await sentence(of: options, exitCode: 1, on: stage).contains(missing))
                }
                for options in [
                    fixture.options(certificate: junk, data: data), fixture.options(key: junk, data: data),
                ] {
                    #expect(try await sentence(of: options, exitCode: 1, on: stage).contains(junk))
                }
                try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: fixture.key)
                let exposed = try await sentence(of: fixture.options(data: data), exitCode: 1, on: stage)
                #expect(exposed.contains(fixture.key))
            }
        }

        @Test("about a port or a directory that another relay has")
        func neighbours() async throws {
            try await onStage { stage in
                let other = try await stage.startRelay()
                let folder = stage.path("dev")
                let port = other.description.providerPort
                let dev = try await sentence(
                    of: [
                        "dev", "--directory", stage.path("second"), "--provider-port", "\(port)",
                        "--device-port", "0",
                    ], exitCode: 1, on: stage)
                #expect(dev.contains(":\(port)"))
                let serve = [
                    "serve", "--certificate", folder + "/relay.pem", "--private-key", folder + "/relay.key",
                    "--data-directory", folder + "/data", "--device-address", "127.0.0.1:0",
                    "--provider-address",
                ]
                let address = "127.0.0.1:\(port)"
                #expect(try await sentence(of: serve + [address], exitCode: 1, on: stage).contains(address))
                let busy = try await sentence(of: serve + ["127.0.0.1:0"], exitCode: 1, on: stage)
                #expect(busy.contains(folder + "/data"))
                #expect(other.program.isRunning)
            }
        }

        @Test("about a database that is not ours", arguments: ["registry.sqlite", "queue.sqlite"])
        func databases(_ name: String) async throws {
            try await onStage { stage in
                let fixture = try await Fixture(stage)
                for (folder, script) in [
                    ("junk", "open(sys.argv[1], 'w').write('no database ' * 1000)"),
                    ("foreign", "sqlite3.connect(sys.argv[1]).execute('CREATE TABLE songs(title)')"),
                    ("directory", "os.mkdir(sys.argv[1])"),
                ] {
                    let data = stage.path(folder)
                    try FileManager.default.createDirectory(
                        atPath: data, withIntermediateDirectories: true,
                        attributes: [.posixPermissions: 0o700])
                    let file = "\(data)/\(name)"
                    let made = try await stage.run(
                        "python3", ["-c", "import os, sqlite3, sys; " + script, file])
                    #expect(made.exitCode == 0)
                    let sentence = try await sentence(of: fixture.options(data: data), exitCode: 1, on: stage)
                    #expect(sentence.contains(file))
                }
            }
        }

        @Test(
            "about a folder in which 'postrider dev' has not been",
            arguments: [["token"], ["send", "--alert", "a", "ab"]])
        func nowhere(_ command: [String]) async throws {
            try await onStage { stage in
                let folder = stage.path("dev")
                let sentence = try await sentence(
                    of: command + ["--directory", folder], exitCode: 2, on: stage)
                #expect(sentence.contains("'postrider dev' has not been in \(folder)"))
            }
        }

        @Test(
            "about words that it does not know, with exit code 2",
            arguments: [
                (["serve", "--frobnicate"], "--frobnicate"),
                (["dev", "--provider-port", "many"], "--provider-port"),
                (["dance"], "dance"), ([], "COMMAND"),
            ])
        func usage(_ arguments: [String], _ word: String) async throws {
            try await onStage { stage in
                let sentence = try await sentence(of: arguments, exitCode: 2, on: stage)
                #expect(sentence.contains(word))
            }
        }
    }
}
