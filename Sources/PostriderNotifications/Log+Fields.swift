extension Log {
    /// What a line is about, in a form that programs can search and count. A field is set if the code that logs knows
    /// it. As in the text, a field never has a secret, a whole device token or a payload.
    public struct Fields: Sendable, Equatable {
        /// The address of the peer, such as `192.0.2.7:40112`.
        public var connection: String?
        /// The identity of the device.
        public var device: String?
        /// The topic of the app.
        public var topic: String?
        /// The `apns-id` of the push.
        public var apnsID: String?
        /// Why it happened: the standard name of a fault, or the sentence that the peer was told.
        public var reason: String?
        /// How many similar lines were left out before this one; nil if none was (``RepeatFilter``).
        public internal(set) var repeats: Int?

        /// Creates fields; those that are nil are left out.
        public init(
            connection: String? = nil, device: String? = nil, topic: String? = nil, apnsID: String? = nil,
            reason: String? = nil
        ) {
            self.connection = connection
            self.device = device
            self.topic = topic
            self.apnsID = apnsID
            self.reason = reason
        }

        /// The fields that have a value, in a fixed order, with their names in lower case and with dashes.
        public var named: [(name: String, value: String)] {
            let all = [
                ("connection", connection), ("device", device), ("topic", topic), ("apns-id", apnsID),
                ("reason", reason), ("repeats", repeats.map(String.init)),
            ]
            return all.compactMap { name, value in value.map { (name, $0) } }
        }
    }
}
