public import PostriderCourier

// What the links of a client learn about the network paths that they use.
extension DeviceClient {
    /// Seconds between PINGs on a path.
    func keepaliveSeconds(on path: String, granted: Int) -> Int { paths[path].seconds(granted: granted) }

    /// A PING after this many seconds of silence was answered.
    func pathBore(_ path: String, silentSeconds: Int, granted: Int) {
        let before = paths[path].seconds(granted: granted)
        guard paths[path].answered(afterSeconds: silentSeconds, granted: granted) else { return }
        tellKeepalive(path, before, nil, granted)
    }

    /// The relay has acknowledged the PING of ``confirm()``.
    func confirmed() { delegate.receive(.confirmed) }

    /// A link was cut after a silence.
    func pathWasCut(_ path: String, _ cut: PathKeepalive.Cut, granted: Int) {
        let before = paths[path].seconds(granted: granted)
        guard paths[path].cut(cut, granted: granted) else { return }
        tellKeepalive(path, before, cut, granted)
    }

    private func tellKeepalive(_ path: String, _ before: Int, _ cut: PathKeepalive.Cut?, _ granted: Int) {
        delegate.receive(
            .keepaliveChanged(
                KeepaliveChange(
                    path: path, before: before, seconds: paths[path].seconds(granted: granted), cut: cut)))
    }
}

/// A device has changed the interval between its PINGs on one network path.
public struct KeepaliveChange: Hashable, Sendable, CustomStringConvertible {
    /// The two addresses of the path.
    public let path: String
    /// Seconds between PINGs so far.
    public let before: Int
    /// Seconds between PINGs from now on.
    public let seconds: Int
    /// How the link was cut; nil if the interval has held, and a longer one is tried.
    public let cut: PathKeepalive.Cut?

    /// One sentence without a full stop.
    public var description: String {
        let now = "a PING is sent every \(seconds) s instead of \(before) s from now on (\(path))"
        return switch cut {
        case .closed(let silentSeconds)?:
            "the link was closed without a goodbye after \(silentSeconds) s of silence, as by a proxy: "
                + now
        case .unanswered(let silentSeconds)?:
            "the PING after \(silentSeconds) s of silence was not answered, as behind a NAT that has "
                + "forgotten the connection: " + now
        case nil: "the path has borne its keepalive: on trial, " + now
        }
    }
}
