import PostriderCourier
import PostriderNotifications

/// Devices whose connection and whose home are on different nodes.
extension NodeSwitch {
    /// Sends a message about a device to the node of its home, or of its connection.
    func pass(_ message: EdgeMessage, over link: Int) {
        switch message {
        case .open(_, _, let address), .openBrowser(_, _, let address):
            guard takesRequest(link) else { return refuse(address, at: link) }
            send(.edge(message), over: link)
        case .said(let device, _, let address):
            guard takesRequest(link) else {
                refuse(address, at: link)
                return pass(.ended(device, .overloaded, address), over: link)
            }
            send(.edge(message), over: link)
        case .ended:
            guard waiting[link] != nil else { return }
            send(.edge(message), over: link)
        case .say(let address, let frame, let isBroadcast):
            send(.edge(.say(address.withoutLink, frame, isBroadcast: isBroadcast)), over: link)
        case .finish(let address, let status, let detail):
            send(.edge(.finish(address.withoutLink, status, detail)), over: link)
        case .close(let address, let code, let reason):
            send(.edge(.close(address.withoutLink, code: code, reason)), over: link)
        case .refuse, .linkEnded: preconditionFailure("shards do not send this to other nodes")
        }
    }

    /// Has a shard of this node say goodbye to a device whose home is at the other end of a link.
    private func refuse(_ address: ReplyAddress, at link: Int) {
        let detail = "the node that serves the device has no room for its messages"
        around.postAnswer(.edge(.refuse(address.through(link), detail)), Int(address.shard))
    }

    /// Gives a message about a device to the shard of its home, or of its connection.
    func receive(_ message: EdgeMessage, from link: Int) throws(CourierError) {
        switch message {
        case .open(let hello, let host, let address):
            try checkRequest(address, link)
            open(.open(hello, host: host, address.through(link)), of: hello.deviceIdentity, address, link)
        case .openBrowser(let hello, let host, let address):
            try checkRequest(address, link)
            let message = EdgeMessage.openBrowser(hello, host: host, address.through(link))
            open(message, of: hello.identity.device, address, link)
        case .said(let device, let bytes, let address):
            try checkRequest(address, link)
            let (here, home) = (address.through(link), device.home(among: around.shardCount))
            guard !around.post(.edge(.said(device, bytes, here)), home) else { return }
            around.postAnswer(.edge(.ended(device, .overloaded, here)), home)
            refuse(address, over: link)
        case .ended(let device, let ending, let address):
            try checkRequest(address, link)
            let home = device.home(among: around.shardCount)
            around.postAnswer(.edge(.ended(device, ending, address.through(link))), home)
        case .say(let address, let frame, let isBroadcast):
            try checkAnswer(forShard: Int(address.shard), link)
            let message = EdgeMessage.say(address.through(link), frame, isBroadcast: isBroadcast)
            around.postAnswer(.edge(message), Int(address.shard))
        case .finish(let address, let status, let detail):
            try checkAnswer(forShard: Int(address.shard), link)
            around.postAnswer(.edge(.finish(address.through(link), status, detail)), Int(address.shard))
        case .close(let address, let code, let reason):
            try checkAnswer(forShard: Int(address.shard), link)
            around.postAnswer(
                .edge(.close(address.through(link), code: code, reason)), Int(address.shard))
        case .refuse(let address, let detail):
            try checkAnswer(forShard: Int(address.shard), link)
            around.postAnswer(.edge(.refuse(address.through(link), detail)), Int(address.shard))
        case .linkEnded: throw .outOfOrder("Messages of this kind are not sent between nodes.")
        }
    }

    /// Gives the hello of a device or a browser to its home.
    private func open(
        _ message: EdgeMessage, of device: DeviceIdentity, _ address: ReplyAddress, _ link: Int
    ) {
        guard !around.post(.edge(message), device.home(among: around.shardCount)) else { return }
        refuse(address, over: link)
    }

    /// Tells another node that its device's home has no room for a message.
    private func refuse(_ address: ReplyAddress, over link: Int) {
        send(.edge(.refuse(address, "the node that serves the device is overloaded")), over: link)
    }
}
