import Foundation
import Testing

extension EndToEnd {
    /// The figures do not depend on the machine's speed. `make bench ROWS=counts` compares those of a release build,
    /// which the optimiser changes.
    @Suite(
        "What a push asks for", .serialized,
        .disabled(if: Sanitizer.isLoaded, "a sanitizer has allocations of its own")
    )
    struct TallyTests {
        #if DEBUG
        private static let configuration = "debug"
        #else
        private static let configuration = "release"
        #endif

        @Test(
            "is no more memory, no more system calls and no more syncs than Tests/Benchmark/bounds.json says")
        func bounds() async throws {
            try await onStage { stage in
                let program = try stage.start(
                    Place.python,
                    [
                        Place.root.appending(path: "Tests/Benchmark/tally.py").path,
                        Place.products.appending(path: "postrider").path, stage.folder.path,
                        Self.configuration,
                    ])
                #expect(try await program.exitCode() == 0, "\(program.transcript)")
                #expect(program.output.last == "no bound is exceeded")
            }
        }
    }
}
