import PostriderNotifications

extension ContractTable {
    static let authentication = ContractGroup(
        title: "Who asks",
        introduction: """
            A provider shows with each push a token that a key of its team has signed (JWT with ES256; \
            pushok's ES512 is taken as well). \
            What real libraries send is taken, also where the documentation says otherwise.
            """,
        cases: schemes + goodTokens + badTokens + ages,
        isBinding: true)

    private static let schemes = [
        ContractCase(
            "auth-missing", "A push without token and certificate is nobody's.", ["authorization": nil],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-empty", "An empty header is none.", ["authorization": ""],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-scheme-alone", "A scheme without token is none.", ["authorization": "bearer"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-basic", "There is one scheme.", ["authorization": "basic {jwt}"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-no-scheme", "The scheme is needed.", ["authorization": "{jwt}"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-upper-case", "The scheme may be of either case.", ["authorization": "Bearer {jwt}"],
            gets: .accepted),
        ContractCase(
            "auth-spaces", "Spaces before the token do no harm.", ["authorization": "bearer   {jwt}"],
            gets: .accepted),
        ContractCase(
            "auth-before-token", "Who asks is looked at before the device token.", ["authorization": nil],
            path: "/3/device/aaaa", gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-before-headers", "Who asks is looked at before the headers.",
            ["authorization": nil, "apns-priority": "7"], gets: .refused(403, "MissingProviderToken")),
    ]

    private static func token(_ name: String, _ rule: String, _ words: String, gets answer: ContractAnswer)
        -> ContractCase
    {
        ContractCase(name, rule, ["authorization": "bearer {\(words)}"], gets: answer)
    }

    private static let goodTokens = [
        token(
            "jwt-der", "A signature may be DER, as OpenSSL writes it.", "jwt with a DER signature",
            gets: .accepted),
        token(
            "jwt-padded", "Base64 may be the standard one with padding.", "jwt in padded base64",
            gets: .accepted),
        token("jwt-iat-text", "`iat` may be text.", "jwt with iat as text", gets: .accepted),
        token("jwt-iat-float", "`iat` may be a float.", "jwt with iat as a float", gets: .accepted),
        token(
            "jwt-claims", "Other claims are not looked at, not even `exp`.", "jwt with other claims",
            gets: .accepted),
        token(
            "jwt-no-alg", "Without `alg` it is ES256, as in Apple's own sample.", "jwt without alg",
            gets: .accepted
        ),
        token("jwt-pretty", "JSON may have white space.", "jwt with line breaks", gets: .accepted),
    ]

    private static let badTokens = [
        token(
            "jwt-text", "Three parts of base64 make a token.", "no jwt",
            gets: .refused(403, "InvalidProviderToken")
        ),
        token(
            "jwt-two-parts", "A token is signed.", "jwt without signature",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-none", "`alg` is ES256.", "jwt with alg none", gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-hmac", "`alg` is ES256.", "jwt with alg HS256", gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-no-kid", "`kid` names the key.", "jwt without kid",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-unknown-kid", "The key is known here.", "jwt of an unknown key",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-other-key", "The key is the one that it names.", "jwt signed with another key",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-other-team", "The key is its team's.", "jwt with another team",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-no-iss", "`iss` names the team.", "jwt without iss",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-no-iat", "`iat` tells when it was made.", "jwt without iat",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-iat-word", "`iat` is a time.", "jwt with iat as a word",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-critical", "A critical extension is not known here.", "jwt with a critical extension",
            gets: .refused(403, "InvalidProviderToken")),
    ]

    private static let ages = [
        token("jwt-59-minutes", "A token is good for an hour.", "jwt of 59 minutes ago", gets: .accepted),
        token(
            "jwt-61-minutes", "A token is good for an hour.", "jwt of 61 minutes ago",
            gets: .refused(403, "ExpiredProviderToken")),
        token("jwt-ahead", "Clocks differ by less than an hour.", "jwt of in 59 minutes", gets: .accepted),
        token(
            "jwt-far-ahead", "Clocks differ by less than an hour.", "jwt of in 61 minutes",
            gets: .refused(403, "ExpiredProviderToken")),
    ]
}
