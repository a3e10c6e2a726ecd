import PostriderRelay
import Testing

/// Runs each test of a suite twice: with the project's own protocol code, and with nghttp2's.
struct EachProtocolCode: SuiteTrait, TestTrait, TestScoping {
    /// The protocol code for the shards of the current test.
    @TaskLocal static var current = ProtocolCode()

    var isRecursive: Bool { true }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await function()
        try await Self.$current.withValue(.nghttp2) { try await function() }
    }
}

extension Trait where Self == EachProtocolCode {
    /// Runs each test with the project's own protocol code and with nghttp2's.
    static var eachProtocolCode: Self { EachProtocolCode() }
}
