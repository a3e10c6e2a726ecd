import Foundation
import Testing

extension EndToEnd {
    @Suite("A provider with a client certificate", .serialized)
    struct CertificateTests {
        @Test("pushes what its certificate is good for; a bad one is told why it is let go (3.3)")
        func rules() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let program = try stage.python(
                    "certificates.py", [relay.file, stage.path("dev/authority.key"), device.token])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "all is as it should be")
            }
        }

        @Test("that postrider dev made pushes with curl, and needs no token")
        func curl() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let device = try await stage.startDevice(of: relay)
                let identity = UUID()
                let (exitCode, output) = try await stage.run(
                    "curl",
                    [
                        "--silent", "--show-error", "--http2", "--include",
                        "--cacert", relay.description.authorityFile,
                        "--cert", relay.description.providerCertificateFile,
                        "--header", "apns-topic: \(relay.topic)", "--header", "apns-id: \(identity)",
                        "--data", #"{"aps":{}}"#, relay.url(device.token),
                    ])
                #expect(exitCode == 0)
                #expect(output.first?.hasPrefix("HTTP/2 200") == true, "\(output)")
                #expect(try await device.payload(of: identity) == #"{"aps":{}}"#)
            }
        }
    }
}
