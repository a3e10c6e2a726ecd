import PostriderNotifications

extension ContractTable {
    static let authentication = ContractGroup(
        title: "Authentication",
        introduction: """
            A provider sends with each push a token that a key of its team has signed (JWT with ES256; \
            pushok's ES512 is accepted too). What real libraries send is accepted, even where Apple's \
            documentation differs.
            """,
        cases: schemes + goodTokens + badTokens + ages,
        isBinding: true)

    private static let schemes = [
        ContractCase(
            "auth-missing", "A push needs a token or a certificate.", ["authorization": nil],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-empty", "An empty header counts as missing.", ["authorization": ""],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-scheme-alone", "A scheme without a token counts as missing.", ["authorization": "bearer"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-basic", "The scheme must be `bearer`.", ["authorization": "basic {jwt}"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-no-scheme", "The scheme is required.", ["authorization": "{jwt}"],
            gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-upper-case", "The scheme may be of either case.", ["authorization": "Bearer {jwt}"],
            gets: .accepted),
        ContractCase(
            "auth-spaces", "Spaces before the token are ignored.", ["authorization": "bearer   {jwt}"],
            gets: .accepted),
        ContractCase(
            "auth-before-token", "Authentication is checked before the device token.", ["authorization": nil],
            path: "/3/device/aaaa", gets: .refused(403, "MissingProviderToken")),
        ContractCase(
            "auth-before-headers", "Authentication is checked before the headers.",
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
            "jwt-claims", "Other claims are ignored, even `exp`.", "jwt with other claims",
            gets: .accepted),
        token(
            "jwt-no-alg", "Without `alg` it is ES256, as in Apple's own sample.", "jwt without alg",
            gets: .accepted
        ),
        token("jwt-pretty", "JSON may have white space.", "jwt with line breaks", gets: .accepted),
    ]

    private static let badTokens = [
        token(
            "jwt-text", "A token has three parts in base64.", "no jwt",
            gets: .refused(403, "InvalidProviderToken")
        ),
        token(
            "jwt-two-parts", "A token must be signed.", "jwt without signature",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-none", "`alg` must be ES256.", "jwt with alg none",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-hmac", "`alg` must be ES256.", "jwt with alg HS256",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-no-kid", "`kid` must name the key.", "jwt without kid",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-unknown-kid", "The relay must know the key.", "jwt of an unknown key",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-other-key", "The signature must be of the key that `kid` names.",
            "jwt signed with another key",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-other-team", "`iss` must be the key's team.", "jwt with another team",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-no-iss", "`iss` must name the team.", "jwt without iss",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-no-iat", "`iat` must say when the token was made.", "jwt without iat",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-iat-word", "`iat` must be a time.", "jwt with iat as a word",
            gets: .refused(403, "InvalidProviderToken")),
        token(
            "jwt-critical", "The relay knows no critical extensions.", "jwt with a critical extension",
            gets: .refused(403, "InvalidProviderToken")),
    ]

    private static let ages = [
        token("jwt-59-minutes", "A token is valid for an hour.", "jwt of 59 minutes ago", gets: .accepted),
        token(
            "jwt-61-minutes", "A token is valid for an hour.", "jwt of 61 minutes ago",
            gets: .refused(403, "ExpiredProviderToken")),
        token(
            "jwt-ahead", "`iat` may be up to an hour ahead of the relay's clock.", "jwt of in 59 minutes",
            gets: .accepted),
        token(
            "jwt-far-ahead", "`iat` may be up to an hour ahead of the relay's clock.", "jwt of in 61 minutes",
            gets: .refused(403, "ExpiredProviderToken")),
    ]
}
