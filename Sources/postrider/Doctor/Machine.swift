import FoundationEssentials
import Glibc
import PostriderClients
import PostriderNotifications
import PostriderSystem
import PostriderTransport

/// The machine that is looked at. Tests replace single facts.
struct Machine: Sendable {
    /// The folder in which the kernel tells its settings.
    var kernel = "/proc/sys"
    /// The most files that the service may have open.
    var descriptors = Descriptors.limit
    /// The unit of the service, which sets ``descriptors``; nil if they are those of this process.
    var unit: String?
    /// The user who asks.
    var user = geteuid()
    /// Seconds since 1970.
    var now = Int(Date().timeIntervalSince1970)
    /// Whether something keeps the clock right; nil if unknown.
    var isClockSynchronised = MachineFacts.isClockSynchronised
    /// The file system of a path; nil if there is none.
    var fileSystem: @Sendable (_ path: String) -> MachineFacts.FileSystem? = MachineFacts.fileSystem
    /// The milliseconds of a synced write in a directory.
    var syncMilliseconds: @Sendable (_ directory: String) throws -> Int = MachineFacts.syncMilliseconds
    /// How long to wait for another machine.
    var patienceMilliseconds = 5000

    /// A number among the kernel's settings, such as `net/core/somaxconn`; nil if the kernel has no such setting.
    func number(_ name: String) -> Int? {
        FileManager.default.contents(atPath: "\(kernel)/\(name)")
            .flatMap { Int(String(decoding: $0, as: UTF8.self).trimmed) }
    }

    /// Why a host name has no address; nil if it has one.
    func mistake(inName host: String) async -> String? {
        if (try? SocketAddress(host: host, port: 0)) != nil { return nil }
        do {
            return try await LoopThread.run("doctor") { loop in
                var answer: String?
                let query = try SystemResolver().lookUp(host, port: 443, on: loop) { [unowned loop] result in
                    if case .failure(let error) = result { answer = "\(error)" }
                    loop.stop()
                }
                return { withExtendedLifetime(query) { answer } }
            }
        } catch {
            return "\(error)"
        }
    }

    /// Why a server cannot be reached, or is none that this machine trusts; nil if it answers.
    func mistake(ofServer server: Server) async -> String? {
        do {
            return try await LoopThread.run("doctor") { [patienceMilliseconds] loop in
                var answer: String?
                let client = RequestClient(to: server, on: loop)
                try client.send(client.makeHead("GET", "/"), timeoutMilliseconds: patienceMilliseconds) {
                    [unowned loop] result in
                    if case .failure(let error) = result { answer = "\(error)" }
                    loop.stop()
                }
                return { withExtendedLifetime(client) { answer } }
            }
        } catch {
            return "\(error)"
        }
    }
}
