import PostriderCommands
import PostriderNotifications
import PostriderRelay
import PostriderTLS

extension RelayConfiguration {
    /// The settings for limits, for the protocol implementations, and for what is recorded.
    static let bounds: [Setting] = [
        .sourceConnections, .sourceRate, .shards, .busyPollingMicroseconds, .pushesPerSecond, .deviceFetches,
        .requestHeaders, .deviceLinks, .tlsRecords, .trace, .traceSample,
        .traceMebibytes,
    ]

    /// Takes over the values of ``bounds`` that the user has set, and leaves the others unchanged.
    ///
    /// - Parameters:
    ///   - number: returns the value of a setting, checked to be in this range; nil if it is not set.
    ///   - word: returns the value of a setting, checked to be one of these words; nil if it is not set.
    mutating func readBounds(
        _ number: (Setting, ClosedRange<Int>) throws -> Int?, _ word: (Setting, [String]) throws -> String?
    ) rethrows {
        if let count = try number(.sourceConnections, 1...1_000_000) { sourceConnections = count }
        if let rate = try number(.sourceRate, 1...1_000_000) { sourceRate = rate }
        if let count = try number(.shards, 1...256) { shards = count }
        if let time = try number(.busyPollingMicroseconds, 0...Limits.busyPollingMicroseconds) {
            busyPollingMicroseconds = time
        }
        if let rate = try number(.pushesPerSecond, 0...1_000_000) { pushesPerSecond = rate == 0 ? nil : rate }
        let fetches = Limits.fetches
        if let count = try number(.deviceFetches, fetches.least...fetches.most) { deviceFetches = count }
        if let name = try word(.requestHeaders, ProtocolCode.RequestHeaders.allCases.map(\.rawValue)) {
            protocolCode.requestHeaders = .init(rawValue: name) ?? protocolCode.requestHeaders
        }
        if let name = try word(.deviceLinks, ProtocolCode.DeviceLinks.allCases.map(\.rawValue)) {
            protocolCode.deviceLinks = .init(rawValue: name) ?? protocolCode.deviceLinks
        }
        if let records = try word(.tlsRecords, TLSRecords.allCases.map(\.rawValue)) {
            tlsRecords = TLSRecords(rawValue: records) ?? tlsRecords
        }
        let isTraced = try word(.trace, ["true", "false"])
        let sample = try number(.traceSample, 1...Limits.traceSample)
        let room = Limits.traceMebibytes
        if let size = try number(.traceMebibytes, room.least...room.most) { traceMebibytes = size }
        traceSample = isTraced == "false" ? nil : sample ?? traceSample ?? 1
    }
}
