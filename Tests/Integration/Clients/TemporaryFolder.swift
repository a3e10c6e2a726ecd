import Foundation
import PostriderClients
import PostriderCrypto
import PostriderTLS
import Synchronization
import Testing

@testable import PostriderTransport

/// A temporary folder, removed with this object.
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

/// An authority, a server's certificate that it has issued, and a client's context that trusts it.
struct TestTLS {
    /// The server's certificate, PEM.
    let chain: String
    /// The key of the certificate, PEM.
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

    /// Made once, because it takes some milliseconds. It lives as long as the process, therefore its folder is
    /// removed at once.
    static let shared = Result { try TestTLS() }
}

extension EventLoop {
    /// Runs turns of the loop until `condition` holds. The limit only keeps a broken test from hanging.
    func turn(until condition: () -> Bool, _ location: SourceLocation = #_sourceLocation) {
        var isLate = false
        let limit = makeTimer { isLate = true }
        limit.arm(afterMilliseconds: 30_000)
        while !condition() && !isLate { turn() }
        #expect(!isLate, "what the test waits for does not happen", sourceLocation: location)
    }

    /// Runs turns of the loop until `task` is done; between them, the thread runs it and other tasks.
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

    /// Runs this many turns, each of which waits for at most a millisecond.
    func turn(times: Int) {
        let nudge = makeTimer {}
        for _ in 0..<times {
            nudge.arm(afterMilliseconds: 1)
            turn()
        }
    }

    /// Runs some turns, in which an unwanted event would happen.
    func turnAFewTimes() { turn(times: 20) }
}
