import Foundation
import Testing

extension EndToEnd {
    @Suite("Completion and manual pages of the program", .serialized)
    struct CompletionTests {
        @Test("is the same in bash, zsh and fish: commands, actions, options and files")
        func shells() async throws {
            try await onStage { stage in
                let program = try stage.python(
                    "completed.py",
                    [Place.products.appending(path: "postrider").path, stage.folder.path])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "all shells complete alike")
            }
        }

        @Test("are formatted without a warning of groff, and have each option of the help")
        func manual() async throws {
            try await onStage { stage in
                for program in ["postrider", "postrider-agent"] {
                    let write = try stage.start(program, ["manual", stage.path("pages")])
                    #expect(try await write.exitCode() == 0, "\(write.transcript)")
                }
                let pages = try FileManager.default.contentsOfDirectory(atPath: stage.path("pages"))
                for page in ["postrider", "postrider-send", "postrider-agent", "postrider-agent-check"] {
                    #expect(pages.contains(page + ".1"))
                }
                for page in pages {
                    let path = stage.path("pages/\(page)")
                    // -ww: every warning; what groff has to say comes with the text.
                    let script = #"groff -k -man -ww -Tutf8 -P-c "$1" 2>&1"#
                    let (code, output) = try await stage.run("bash", ["-c", script, "bash", path])
                    #expect(code == 0 && !output.contains { $0.contains("warning:") }, "\(page): \(output)")
                }
                for (program, command) in [("postrider", ["send"]), ("postrider-agent", [])] {
                    let help = try stage.start(program, command + ["--help"])
                    #expect(try await help.exitCode() == 0)
                    let name = ([program] + command).joined(separator: "-")
                    let (_, text) = try await stage.run(
                        "groff", ["-k", "-man", "-Tutf8", "-P-cbou", stage.path("pages/\(name).1")])
                    let options = help.output.joined(separator: "\n").matches(of: #/--[a-z][a-z-]+/#).map {
                        $0.output
                    }
                    #expect(options.count > 20)
                    let page = text.joined(separator: "\n")
                    for option in Set(options) { #expect(page.contains(option), "\(name) \(option)") }
                }
            }
        }
    }
}
