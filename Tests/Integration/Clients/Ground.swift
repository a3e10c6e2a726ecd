import Foundation
import PostriderClients
import PostriderCrypto
import PostriderTLS
import Synchronization
import Testing

@testable import PostriderTransport

/// A folder that goes away with the object.
final class TemporaryFolder: Sendable {
    let path = "/tmp/clients-\(getpid())-\(UInt64.random(in: 0...UInt64.max))"

    init() throws {
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ text: String, to name: String) -> String {
        let file = path + "/" + name
        _ = FileManager.default.createFile(
            atPath: file, contents: Data(text.utf8), attributes: [.posixPermissions: 0o600])
        return file
    }

    func address(_ name: String) throws -> SocketAddress { try SocketAddress(unixPath: path + "/" + name) }
}

/// An authority, a server's certificate by it, and a client that trusts it.
struct TestTLS {
    /// The server's certificate, PEM.
    let chain: String
    /// The key of it, PEM.
    let key: String
    let server: TLSContext
    let client: TLSContext

    init() throws {
        let folder = try TemporaryFolder()
        let authority = try Certificates.makeAuthority(commonName: "Test authority", validDays: 1)
        let leaf = try Certificates.issue(
            commonName: "localhost", dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"], usage: .server,
            validDays: 1, authority: authority)
        (chain, key) = (leaf.certificate, leaf.key)
        server = try TLSContext.server(
            certificateChainFile: folder.write(chain, to: "chain.pem"),
            privateKeyFile: folder.write(key, to: "key.pem"), alpn: ["h2"], allowsMissingALPN: true,
            clientCertificates: .none)
        client = try TLSContext.client(
            trustFile: folder.write(authority.certificate, to: "ca.pem"), alpn: ["h2"])
    }

    /// Made once: it costs some milliseconds. It lives as long as the process, and so keeps no folder.
    static let shared = Result { try TestTLS() }
}

extension EventLoop {
    /// Turns until `condition` holds. The limit only keeps a broken test from hanging.
    func turn(until condition: () -> Bool, _ location: SourceLocation = #_sourceLocation) {
        var isLate = false
        let limit = makeTimer { isLate = true }
        limit.arm(afterMilliseconds: 30_000)
        while !condition() && !isLate { turn() }
        #expect(!isLate, "what the test waits for does not happen", sourceLocation: location)
    }

    /// Turns until `task` is done, and lets it and other tests have the thread in between.
    func turn(until task: Task<Void, Never>) async {
        let end = End()
        Task {
            await task.value
            end.isReached.store(true, ordering: .relaxed)
        }
        while !end.isReached.load(ordering: .relaxed) {
            turn(times: 1)
            await Task.yield()
        }
    }

    private final class End: Sendable {
        let isReached = Atomic(false)
    }

    /// Turns so often, and waits for nothing longer than a millisecond.
    func turn(times: Int) {
        let nudge = makeTimer {}
        for _ in 0..<times {
            nudge.arm(afterMilliseconds: 1)
            turn()
        }
    }

    /// Gives what might wrongly happen the turns to happen in.
    func turnAFewTimes() { turn(times: 20) }
}
