/// The identifiers that the answer to a request about channels contains: the provider's own, byte for byte, or one that
/// was drawn for it. In Apple's samples of a broadcast both `apns-id` and `apns-request-id` occur, so its answer has
/// both.
package struct ChannelEcho {
    package let requestIdentifier: [UInt8]
    /// For broadcasts: `apns-id`.
    package let identifier: [UInt8]?

    package init(_ request: PushRequest) {
        let named = request.range(.requestIdentifier).map { Array(request.values[$0]) }
        requestIdentifier = named ?? request.echo
        let isBroadcast = request.range(.path).map { request.values[$0].starts(with: "/4/".utf8) } ?? false
        let hasIdentifier = request.range(.identifier) != nil
        identifier = isBroadcast ? (hasIdentifier ? request.echo : requestIdentifier) : nil
    }
}
