import Foundation
import Testing

/// Devices of a load run that others push to.
extension EndToEnd.LoadTests {
    private struct Device: Decodable {
        struct Registration: Decodable { let token: String }
        let tags: [String]
        let registrations: [Registration]
    }

    /// Waits until this many devices with a tag have their device tokens.
    private func devices(_ count: Int, tagged tag: String, in folder: String, on stage: Stage) async throws {
        let deadline = ContinuousClock.now + .seconds(Program.patienceSeconds)
        while true {
            let list = try stage.start(
                "postrider", ["devices", "list", "--json", "--tag", tag, "--directory", folder])
            // While the relay starts there is no control socket.
            if try await list.exitCode() == 0 {
                let text = Data(list.output.joined().utf8)
                let devices = try JSONDecoder().decode([Device].self, from: text)
                if devices.count(where: { !$0.registrations.isEmpty }) == count { return }
            }
            try #require(ContinuousClock.now < deadline, "\(list.transcript)")
        }
    }

    @Test("has devices of a tag, all of which one command wakes and waits for")
    func tagged() async throws {
        try await onStage { stage in
            let folder = stage.path("wakes")
            let load = try stage.start(
                "postrider",
                [
                    "load", "idle", "--devices", "300", "--tag", "lobby", "--for", "30m",
                    "--relay-directory", folder,
                ])
            try await devices(300, tagged: "lobby", in: folder, on: stage)
            let arguments = ["--directory", folder, "--alert", "wake", "--wait", "done", "--timeout", "2m"]
            let send = try stage.start("postrider", ["send", "--tag", "lobby"] + arguments)
            #expect(try await send.exitCode() == 0, "\(send.transcript)")
            #expect(send.output.last == "300 of 300 done" && send.output.count == 301)
            let none = try stage.start("postrider", ["send", "--tag", "kitchen"] + arguments)
            #expect(try await none.exitCode() == 1)
            #expect(none.transcript.contains("No device with the tag kitchen"), "\(none.transcript)")
            load.send(SIGINT)
            #expect(try await load.exitCode() == 130, "\(load.transcript)")
        }
    }
}
