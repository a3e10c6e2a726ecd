import PostriderCrypto
package import PostriderNotifications

/// The authentication state of one provider connection, and the rules for a connection as a whole: one team, related
/// keys, tokens that do not change too often (the contract's sections 3.2 and 3.3).
///
/// For a push with the same token as before it compares bytes only.
package struct ProviderCredentials {
    /// A token that the connection uses now.
    private final class Held {
        /// The header's value, byte for byte.
        let text: [UInt8]
        /// SHA-256 of the token in it.
        let digest: SHA256Digest
        let token: ProviderToken
        /// The generation of the access policy when the token was checked.
        let generation: UInt64
        /// When it replaced another token, or was the first.
        let since: Moment

        init(
            _ text: Span<UInt8>, _ digest: SHA256Digest, _ token: ProviderToken, generation: UInt64,
            since: Moment
        ) {
            self.text = text.indices.map { text[$0] }
            self.digest = digest
            self.token = token
            self.generation = generation
            self.since = since
        }

        /// Whether the text is this token and the policy has not changed since: one comparison in constant time.
        func answers(_ text: Span<UInt8>, _ authority: AccessPolicy) -> Bool {
            let own = self.text
            return generation == authority.generation && own.count == text.count
                && constantTimeEquals(own.span, text)
        }
    }

    /// The scope of the certificate, on a connection that has presented one: tokens are ignored then.
    private var certificate: CertificateScope?
    /// Whether the operator pushes, on the control socket: no tokens are needed then.
    private var isOperator = false
    /// The first key that was accepted: the connection is bound to it.
    private var binding: ProviderKey?
    /// The current token of the first key, or of another team-scoped key if the first is team-scoped.
    private var first: Held?
    /// The current token of the key that is related to the first.
    private var related: Held?

    /// Those of a connection that has not authenticated itself.
    package init() {}

    /// Whether the provider is authenticated.
    package var hasAuthenticated: Bool { certificate != nil || binding != nil }

    /// The credentials of the operator on the control socket.
    package static var ofOperator: ProviderCredentials {
        var credentials = ProviderCredentials()
        credentials.isOperator = true
        return credentials
    }

    /// Takes the certificate that the provider has presented in its handshake, if any.
    ///
    /// - Throws: the rejection that is sent before the connection is closed.
    package mutating func adopt(_ shown: ProviderCertificate?, in environment: Environment) throws(Rejection)
    {
        guard let shown else { return }
        certificate = try CertificateScope(shown, in: environment)
    }

    /// The grant of the provider of a request. `authorization` is the range of that header's value in `values`.
    ///
    /// - Throws: the first of `MissingProviderToken`, `InvalidProviderToken`, `Forbidden` (the key is revoked or has
    ///   ended), `InvalidProviderToken` (a second team on this connection), `BadEnvironmentKeyIdInToken`,
    ///   `UnrelatedKeyIdInToken`, `ExpiredProviderToken`, `TooManyProviderTokenUpdates`.
    mutating func authenticate(
        _ authorization: Range<Int>?, in values: Span<UInt8>, of environment: Environment,
        _ tokens: ProviderTokens, _ authority: AccessPolicy, now: Moment
    ) throws(Rejection) -> ProviderGrant {
        if let certificate { return .certificate(certificate) }
        guard !isOperator else { return .controlSocket }
        guard let authorization else { throw .missingProviderToken }
        let text = values.extracting(authorization)
        if let first, first.answers(text, authority) { return try Self.permission(first, now) }
        if let related, related.answers(text, authority) { return try Self.permission(related, now) }
        return .token(try take(text, environment, tokens, authority, now))
    }

    private static func permission(_ held: Held, _ now: Moment) throws(Rejection) -> ProviderGrant {
        guard !held.token.key.isOver(at: now) else { throw .forbidden }
        guard held.token.isCurrent(at: now) else { throw .expiredProviderToken }
        return .token(held.token.key)
    }

    /// Checks a token that is new on this connection, or whose key may have changed, and keeps it if it is accepted.
    private mutating func take(
        _ text: Span<UInt8>, _ environment: Environment, _ tokens: ProviderTokens, _ authority: AccessPolicy,
        _ now: Moment
    ) throws(Rejection) -> ProviderKey {
        let words = text.extracting(try Self.token(in: text))
        let digest = SHA256.digest(words)
        let token = try tokens.token(words, digest, by: authority)
        let key = token.key
        guard !key.isOver(at: now) else { throw .forbidden }
        if let binding, binding.team != key.team { throw .invalidProviderToken }
        if let only = key.environment, only != environment { throw .badEnvironmentKeyIdentifierInToken }
        let isRelated = try isRelated(key)
        guard token.isCurrent(at: now) else { throw .expiredProviderToken }

        let predecessor = isRelated ? related : first
        let isSame = predecessor?.digest == digest
        if let predecessor, !isSame, !Self.mayReplace(predecessor, authority, now) {
            throw .tooManyProviderTokenUpdates
        }
        let held = Held(
            text, digest, token, generation: authority.generation,
            since: isSame ? predecessor?.since ?? now : now)
        if isRelated { related = held } else { first = held }
        if binding == nil { binding = key }
        return key
    }

    /// Whether a key is the one related to the connection's first key. False for the first key itself, and for a key
    /// that may replace it.
    ///
    /// - Throws: `UnrelatedKeyIdInToken` for all others.
    private func isRelated(_ key: ProviderKey) throws(Rejection) -> Bool {
        guard let binding, binding.identifier != key.identifier else { return false }
        if !binding.isTopicSpecific, !key.isTopicSpecific { return false }
        guard binding.isTopicSpecific, key.isTopicSpecific, key.related == binding.identifier else {
            throw .unrelatedKeyIdentifierInToken
        }
        return true
    }

    /// Whether another token may replace this one now.
    ///
    /// The limit asks a provider not to make a new token for every push. It does not force a provider to keep one that
    /// is refused: a token that has expired, or whose key the operator has changed, may be replaced at any time. If the
    /// clock was put back, a replacement is allowed too.
    private static func mayReplace(_ held: Held, _ authority: AccessPolicy, _ now: Moment) -> Bool {
        let interval = Limits.providerTokenMinutes * 60_000 - Limits.providerTokenSlackSeconds * 1000
        if now < held.since || now >= held.since.advanced(byMilliseconds: interval) { return true }
        let key = held.token.key
        return !held.token.isCurrent(at: now) || key.isOver(at: now)
            || authority.providerKeys[key.identifier]?.record != key.record
    }

    /// The range of the token: after the scheme `bearer` in upper or lower case, without surrounding spaces.
    private static func token(in authorization: Span<UInt8>) throws(Rejection) -> Range<Int> {
        let scheme = "bearer "
        guard authorization.count > scheme.utf8.count else { throw .missingProviderToken }
        for (index, letter) in scheme.utf8.enumerated() where authorization[index] | 0x20 != letter {
            throw .missingProviderToken
        }
        var range = scheme.utf8.count..<authorization.count
        while let first = range.first, authorization[first] == UInt8(ascii: " ") { range.removeFirst() }
        while let last = range.last, authorization[last] == UInt8(ascii: " ") { range.removeLast() }
        guard !range.isEmpty else { throw .missingProviderToken }
        return range
    }
}
