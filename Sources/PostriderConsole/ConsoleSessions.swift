internal import PostriderCrypto
public import PostriderNotifications
internal import Synchronization

/// Who has signed in to the console.
public struct ConsoleSession: Sendable, Equatable {
    /// The name for the audit, such as that of the user who made the link.
    public let name: String
    /// What the session may do.
    public let role: ConsoleRole
    /// When it ends, whatever is done with it.
    public let endsAt: Moment
}

/// The sessions of the console, and the links with which they begin. Nothing of this is stored: when the relay ends,
/// all sessions end.
///
/// A link and a session are each known by a secret of 256 random bits, of which only the SHA-256 is kept. There is no
/// password that could be guessed.
public final class ConsoleSessions: Sendable {
    /// How long a link can be used, in seconds, unless its maker says otherwise.
    public static let linkSeconds = 300
    /// How long a session lasts at most.
    static let sessionMilliseconds: Int64 = 12 * 3_600_000
    /// How long a session lasts without a request. An open page makes one every few seconds.
    static let idleMilliseconds: Int64 = 3_600_000
    /// The most links and the most sessions at one time.
    static let most = 64

    private struct Link {
        let name: String
        let role: ConsoleRole
        let endsAt: Moment
    }

    private struct Visit {
        let session: ConsoleSession
        var seenAt: Moment

        func hasEnded(at now: Moment) -> Bool {
            now >= session.endsAt || now.milliseconds - seenAt.milliseconds >= idleMilliseconds
        }
    }

    private struct State {
        var links: [SHA256Digest: Link] = [:]
        var visits: [SHA256Digest: Visit] = [:]

        mutating func removeEnded(at now: Moment) {
            links = links.filter { now < $0.value.endsAt }
            visits = visits.filter { !$0.value.hasEnded(at: now) }
        }
    }

    /// The name of the cookie with a session's secret. It is another one at each start, because the cookies of a host
    /// are the same for all its ports, and so for all relays there.
    public let cookieName = "__Host-postrider-" + Hexadecimal.text(Entropy().bytes(4))

    private let state = Mutex(State())

    /// No sessions and no links.
    public init() {}

    /// Makes the secret of a link that is good for one session.
    ///
    /// - Parameters:
    ///   - name: the name of the session.
    ///   - seconds: how long it can be used.
    /// - Returns: 64 hexadecimal digits; nil if there are too many unused links.
    public func makeLink(
        _ name: String, _ role: ConsoleRole, at now: Moment, seconds: Int = linkSeconds
    ) -> String? {
        let (secret, digest) = Self.makeSecret()
        let link = Link(name: name, role: role, endsAt: now.advanced(byMilliseconds: Int64(seconds) * 1000))
        return state.withLock { state in
            state.removeEnded(at: now)
            guard state.links.count < Self.most else { return nil }
            state.links[digest] = link
            return secret
        }
    }

    /// Begins a session with a link, which is then used up. The session that was seen least recently makes room if
    /// there are too many.
    ///
    /// - Returns: the secret of the session, 64 hexadecimal digits; nil if the link is not good.
    public func signIn(link: String, at now: Moment) -> (secret: String, session: ConsoleSession)? {
        let digest = SHA256.digest(Array(link.utf8).span)
        return state.withLock { state in
            state.removeEnded(at: now)
            guard let link = state.links.removeValue(forKey: digest) else { return nil }
            if state.visits.count >= Self.most,
                let oldest = state.visits.min(by: { $0.value.seenAt < $1.value.seenAt })
            {
                state.visits[oldest.key] = nil
            }
            let session = ConsoleSession(
                name: link.name, role: link.role,
                endsAt: now.advanced(byMilliseconds: Self.sessionMilliseconds))
            let (secret, digest) = Self.makeSecret()
            state.visits[digest] = Visit(session: session, seenAt: now)
            return (secret, session)
        }
    }

    /// The session with this secret, which is seen now; nil if there is none or it has ended.
    public func session(_ secret: String, at now: Moment) -> ConsoleSession? {
        let digest = SHA256.digest(Array(secret.utf8).span)
        return state.withLock { state in
            guard let visit = state.visits[digest] else { return nil }
            guard !visit.hasEnded(at: now) else {
                state.visits[digest] = nil
                return nil
            }
            state.visits[digest]?.seenAt = now
            return visit.session
        }
    }

    /// Ends the session with this secret, if there is one.
    public func signOut(_ secret: String) {
        let digest = SHA256.digest(Array(secret.utf8).span)
        state.withLock { _ = $0.visits.removeValue(forKey: digest) }
    }

    private static func makeSecret() -> (text: String, digest: SHA256Digest) {
        let text = Hexadecimal.text(Entropy().bytes(32))
        return (text, SHA256.digest(Array(text.utf8).span))
    }
}
