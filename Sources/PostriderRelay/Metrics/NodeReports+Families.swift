import PostriderCluster
import PostriderMetrics

extension NodeReports.Report {
    /// The metric families of a node of a cluster.
    var families: [MetricFamily] {
        var pushes = MetricFamily(
            "postrider_node_pushes_total", .counter,
            "Pushes over the links between nodes: sent to other nodes and received from them; refused "
                + "because too much waited for their node; lost, and answered with 503, because there was no "
                + "link.")
        pushes.add(counters.sent, ("what", "sent"))
        pushes.add(counters.received, ("what", "received"))
        pushes.add(counters.refused, ("what", "refused"))
        pushes.add(counters.lost, ("what", "lost"))
        return [
            pushes,
            .counter(
                "postrider_node_broadcasts_lost_total", counters.lostBroadcasts,
                "Broadcasts that a node or a shard was not sent, because too much waited for it."),
            .gauge(
                "postrider_node_partitions_served", served,
                "Partitions of the cluster whose devices this node serves."),
            .gauge("postrider_node_links", links.count, "Other nodes to which this one has an open link."),
            .gauge(
                "postrider_cluster_nodes", view?.nodes.count ?? 0,
                "Nodes of the cluster, as this one has seen it last in the database."),
        ]
    }
}
