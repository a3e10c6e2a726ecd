import Testing

/// Tests of Postrider's programs with clients from other projects: curl, nghttp, aioapns, grpcio, h2.
///
/// They run one after the other, because each starts its own programs.
@Suite("End to end", .serialized)
struct EndToEnd {}

/// The same, of those suites that take longest, beside all others: one processor of a machine with two waits most of
/// the time while a single one of these tests runs.
@Suite("End to end, the long ones", .serialized)
struct LongEndToEnd {}
