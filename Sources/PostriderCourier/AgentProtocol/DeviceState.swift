/// The state of the device when an app attaches (`DeviceState`). Later changes arrive as ``SystemEvent``.
public struct DeviceState: CourierMessage {
    /// The last change of the connection to the relay; nil if the agent has not tried to connect yet.
    public let link: LinkChange?
    /// The present or target frame of the keyboard on screen; nil if it is hidden.
    public let keyboard: KeyboardFrame?
    /// The device's time zone, such as `Europe/Berlin`.
    public let timeZone: String

    /// Creates a state from its parts.
    public init(link: LinkChange?, keyboard: KeyboardFrame?, timeZone: String) {
        self.link = link
        self.keyboard = keyboard
        self.timeZone = timeZone
    }

    /// Decodes the message.
    public init(decoding bytes: Span<UInt8>) throws(CourierError) {
        var reader = ProtobufReader()
        var (link, keyboard, zone) = (LinkChange?.none, KeyboardFrame?.none, "")
        while let field = try reader.next(in: bytes) {
            switch field.number {
            case 1: link = try LinkChange(decoding: bytes.extracting(try field.range()))
            case 2: keyboard = try KeyboardFrame(decoding: bytes.extracting(try field.range()))
            case 3: zone = try field.text(in: bytes)
            default: break
            }
        }
        self.init(link: link, keyboard: keyboard, timeZone: zone)
    }

    /// Appends the encoded message.
    public func encode(into output: inout [UInt8]) {
        if let link { output.appendField(1, message: link.encode) }
        if let keyboard { output.appendField(2, message: keyboard.encode) }
        output.appendField(3, timeZone)
    }
}
