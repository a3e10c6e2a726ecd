import PostriderSystem
package import PostriderTransport

/// Runs a loop for commands that are clients.
package enum LoopThread {
    /// Starts a thread with a loop, and returns its outcome.
    ///
    /// - Parameter begin: called on the loop's thread before the loop runs. It starts something that stops the loop
    ///   in the end. The closure that it returns is called after that; it keeps everything alive until then, and
    ///   returns the outcome.
    package static func run<Outcome: Sendable>(
        _ name: String, _ begin: @escaping @Sendable (EventLoop) throws -> () throws -> Outcome
    ) async throws -> Outcome {
        try await Thread.start(name: name) { continuation in
            continuation.resume(
                with: Result {
                    let loop = try EventLoop()
                    let end = try begin(loop)
                    loop.run()
                    return try end()
                })
        }
    }
}
