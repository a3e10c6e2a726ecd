import Foundation
import Testing

extension EndToEnd {
    @Suite("Evidence of a push, as docs/operate/evidence.md has it", .serialized)
    struct EvidenceTests {
        /// The code of the page in a language; there is one block of each.
        private func block(_ language: String) throws -> String {
            let path = Place.root.appending(path: "docs/operate/evidence.md")
            let page = try String(contentsOf: path, encoding: .utf8)
            let start = try #require(page.range(of: "```\(language)\n"))
            let end = try #require(page[start.upperBound...].range(of: "```"))
            return String(page[start.upperBound..<end.lowerBound])
        }

        /// Runs a block of the page in the stage's folder.
        private func run(_ language: String, by program: URL, on stage: Stage) async throws -> Program {
            let file = try stage.write(try block(language), to: "check.\(language)")
            let script = #"cd "$1" && exec "$2" "$3""#
            let check = try stage.start(
                URL(filePath: "/bin/sh"), ["-c", script, "sh", stage.folder.path, program.path, file])
            _ = try await check.exitCode()
            return check
        }

        private func evidence(_ arguments: [String], _ file: String, on stage: Stage) async throws -> [String]
        {
            let program = try stage.start("postrider", ["evidence"] + arguments)
            #expect(try await program.exitCode() == 0, "\(program.transcript)")
            _ = try stage.write(program.output.joined(separator: "\n") + "\n", to: file)
            return program.output
        }

        @Test("is checked by postrider, PyJWT and openssl, and a changed byte fails with each")
        func whole() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                try stage.handle(#"echo "$POSTRIDER_BODY""#, topic: relay.topic)
                _ = try await stage.startAgent(of: relay, options: ["--apps-directory", stage.path("apps")])
                let token = try await stage.token(of: relay)
                let identity = UUID().uuidString
                let send = try stage.send([
                    "--body", "wake", "--apns-id", identity, "--wait", "done", "--timeout", "2m", token,
                ])
                #expect(try await send.exitCode() == 0, "\(send.transcript)")
                let folder = ["--directory", stage.path("dev")]
                let text = try await evidence([identity] + folder, "evidence.txt", on: stage)
                _ = try await evidence(["key"] + folder, "relay-public.pem", on: stage)
                #expect(text.contains { $0.contains("its handler") || $0.contains("handler has ended") })

                let arguments = ["evidence", "verify", stage.path("evidence.txt"), "--key"]
                let good = try stage.start("postrider", arguments + [stage.path("relay-public.pem")])
                #expect(try await good.exitCode() == 0, "\(good.transcript)")
                for words in ["The signature is good", identity, "has acknowledged", "exit code 0"] {
                    #expect(good.output.contains { $0.contains(words) }, "\(words) in \(good.transcript)")
                }
                let bash = URL(filePath: "/bin/bash")
                let python = try await run("python", by: Place.python, on: stage)
                #expect(python.output == ["the signature is good"], "\(python.transcript)")
                let openssl = try await run("bash", by: bash, on: stage)
                #expect(openssl.output == ["Verified OK"], "\(openssl.transcript)")

                _ = try stage.write(
                    text.joined(separator: "\n").replacing(identity, with: UUID().uuidString) + "\n",
                    to: "evidence.txt")
                let bad = try stage.start("postrider", arguments + [stage.path("relay-public.pem")])
                #expect(try await bad.exitCode() == 1)
                #expect(bad.errors.contains { $0.contains("the text was changed") }, "\(bad.transcript)")
                let badPython = try await run("python", by: Place.python, on: stage)
                #expect(badPython.errors.contains { $0.contains("InvalidSignatureError") })
                let badOpenSSL = try await run("bash", by: bash, on: stage)
                #expect(!badOpenSSL.output.contains("Verified OK"), "\(badOpenSSL.transcript)")
            }
        }
    }
}
