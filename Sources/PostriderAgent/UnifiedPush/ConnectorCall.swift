import PostriderDBus

/// A call of the distributor to an app's connector (UnifiedPush DBUS_0.3.0, *Connector API*). Pure.
enum ConnectorCall: Equatable {
    /// A message with its bytes and its identifier, by which an app recognises a copy.
    case message([UInt8], identifier: String)
    /// The URL for the app's server.
    case newEndpoint(String)
    /// The registration has ended.
    case unregistered(wasAskedFor: Bool)

    private static let path = "/org/unifiedpush/Connector"

    /// The call on the bus. An app that does not run is started by the bus.
    func call(of record: ConnectorRecord) -> BusCall {
        let member =
            switch self {
            case .message: "Message"
            case .newEndpoint: "NewEndpoint"
            case .unregistered: "Unregistered"
            }
        return BusCall(
            record.service, path: Self.path, interface: "org.unifiedpush.Connector\(record.version.rawValue)",
            member: member,
            arguments: record.version == .one ? positional(record.token) : [named(record.token)])
    }

    /// The call whose answer tells that an app of version 1 has read what was sent before: its methods answer nothing,
    /// and messages between two connections keep their order.
    static func question(to record: ConnectorRecord) -> BusCall {
        BusCall(record.service, path: path, interface: "org.freedesktop.DBus.Peer", member: "Ping")
    }

    private func positional(_ token: String) -> [BusValue] {
        switch self {
        case .message(let bytes, let identifier): [.string(token), Self.bytes(bytes), .string(identifier)]
        case .newEndpoint(let url): [.string(token), .string(url)]
        // An empty token confirms what the app has asked for.
        case .unregistered(let wasAskedFor): [.string(wasAskedFor ? "" : token)]
        }
    }

    private func named(_ token: String) -> BusValue {
        let first = (name: "token", value: BusValue.string(token))
        return switch self {
        case .message(let bytes, let identifier):
            .named([first, ("message", Self.bytes(bytes)), ("id", .string(identifier))])
        case .newEndpoint(let url): .named([first, ("endpoint", .string(url))])
        case .unregistered: .named([first])
        }
    }

    private static func bytes(_ bytes: [UInt8]) -> BusValue { .array(of: "y", bytes.map(BusValue.byte)) }
}

/// The description of the distributor's object, in the format of the D-Bus specification (*Introspection Data Format*).
/// Connectors look there for the interface of version 2.
enum DistributorDescription {
    static let xml = """
        <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
        <node>
          <interface name="org.unifiedpush.Distributor2">
            <method name="Register">
              <arg name="args" type="a{sv}" direction="in"/>
              <arg name="res" type="a{sv}" direction="out"/>
            </method>
            <method name="Unregister">
              <arg name="args" type="a{sv}" direction="in"/>
              <arg name="res" type="a{sv}" direction="out"/>
            </method>
          </interface>
          <interface name="org.unifiedpush.Distributor1">
            <method name="Register">
              <arg name="serviceName" type="s" direction="in"/>
              <arg name="token" type="s" direction="in"/>
              <arg name="description" type="s" direction="in"/>
              <arg name="registrationResult" type="s" direction="out"/>
              <arg name="registrationResultReason" type="s" direction="out"/>
            </method>
            <method name="Unregister">
              <arg name="token" type="s" direction="in"/>
              <annotation name="org.freedesktop.DBus.Method.NoReply" value="true"/>
            </method>
          </interface>
          <interface name="org.freedesktop.DBus.Introspectable">
            <method name="Introspect"><arg name="xml" type="s" direction="out"/></method>
          </interface>
          <interface name="org.freedesktop.DBus.Peer">
            <method name="Ping"/>
            <method name="GetMachineId"><arg name="machine_uuid" type="s" direction="out"/></method>
          </interface>
        </node>
        """
}
