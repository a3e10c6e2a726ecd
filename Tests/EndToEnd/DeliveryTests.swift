import Foundation
import Testing

extension EndToEnd {
    @Suite("Deliveries to grpcio devices", .serialized)
    struct DeliveryTests {
        @Test("wait for a device that stops reading, and all arrive later")
        func backPressure() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("patient.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }

        @Test("are held back from a device that saves power or ignores an app, until it wants them")
        func reception() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("hold.py", [relay.file])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
            }
        }

        @Test("of 10,000 pushes to 100 devices, half of them away half of the time, arrive once and in order")
        func flood() async throws {
            try await onStage { stage in
                let relay = try await stage.startRelay()
                let program = try stage.python("flood.py", [relay.file, "--away"])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last?.hasPrefix("all 10104 notifications arrived once") == true)
            }
        }
    }
}
