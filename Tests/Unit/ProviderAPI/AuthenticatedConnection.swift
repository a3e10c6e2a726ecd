import PostriderCrypto
import PostriderNotifications
import RelayFixtures

@testable import PostriderProviderAPI

/// The authentication of one provider connection.
final class AuthenticatedConnection {
    private var credentials = ProviderCredentials()
    private let tokens = ProviderTokens()
    private let environment: PostriderNotifications.Environment
    var authority: AccessPolicy
    /// The permission of the last push that was authenticated.
    private(set) var permission: ProviderGrant?

    init(
        _ authority: AccessPolicy = Provider.shared.authority,
        in environment: PostriderNotifications.Environment = .production
    ) {
        self.authority = authority
        self.environment = environment
    }

    /// Presents a certificate in the handshake. Returns the reason if it is refused.
    func show(_ certificate: ProviderCertificate?) -> Rejection? {
        do throws(Rejection) {
            try credentials.adopt(certificate, in: environment)
            return nil
        } catch {
            return error
        }
    }

    /// Makes a push with this header. Returns the reason if it is refused.
    func push(_ authorization: String?, at now: Moment = Samples.now) -> Rejection? {
        let values = Array((authorization ?? "").utf8)
        do throws(Rejection) {
            permission = try credentials.authenticate(
                authorization.map { 0..<$0.utf8.count }, in: values.span, of: environment, tokens, authority,
                now: now)
            return nil
        } catch {
            return error
        }
    }
}
