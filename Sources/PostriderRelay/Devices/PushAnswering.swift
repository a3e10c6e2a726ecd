import PostriderNotifications

/// Answers pushes of providers that are connected to this shard.
protocol PushAnswering: AnyObject {
    /// Answers one push, if its connection is still here.
    func answer(_ address: ReplyAddress, _ result: PushResult)
}
