// Every metric of a node: events that were counted, and values that are read at the moment.
//
// Asked for `/metrics` and by OPERATOR_METRICS, on a reader thread: sizes and lags are looked up in
// the store. The article Monitoring lists them, the dashboard `cluster/grafana.json` shows them.

import CumulusModel
import CumulusReplication
package import CumulusStorage
import CumulusSystem
import CumulusWire
import Synchronization

extension Node {
    /// Every metric in the text form that Prometheus reads.
    ///
    /// If too many reads are waiting, what the store would have to tell has no samples.
    ///
    /// - Parameter others: Metrics to write after the node's own.
    package func metricsText(and others: [MetricFamily] = []) async -> String {
        let families = try? await gate.reading(.prompt) { [self] in metrics($0) }
        return MetricsText.text((families ?? metrics(nil)) + others)
    }

    /// - Parameter reader: nil means that nothing is looked up in the store.
    package func metrics(_ reader: ReadTransaction?) -> [MetricFamily] {
        meter.registry.families + nodeMetrics() + writeMetrics() + peerMetrics(reader)
            + feedMetrics() + storeMetrics(reader) + processMetrics()
    }

    // MARK: The node

    private func nodeMetrics() -> [MetricFamily] {
        var build = MetricFamily("cumulus_build_info", .gauge, "1; the label tells the release.")
        build.add(1, ("version", configuration.version))
        var certificate = MetricFamily(
            "cumulus_certificate_end_time_seconds",
            .gauge,
            "When the certificate ends that callers are shown, since 1970; without TLS no sample."
        )
        if let end = environment.certificateEnd() { certificate.add(Double(end)) }
        let isReady = state == "ready" ? 1 : 0
        return [
            build, certificate,
            MetricFamily("cumulus_ready", .gauge, "1 if the node is ready, 0 if not.", isReady),
            MetricFamily(
                "cumulus_connections",
                .gauge,
                "Connections of callers, also those inside this process.",
                meter.connections.value
            ),
            MetricFamily(
                "cumulus_held_bytes",
                .gauge,
                "Bytes of requests in progress and of answers that were not taken yet.",
                meter.heldBytes.value
            ),
            MetricFamily(
                "cumulus_calls_in_progress",
                .gauge,
                "Calls that began and have not ended.",
                meter.callsInProgress.value
            ),
        ]
    }

    // MARK: Work of the node's threads

    private func writeMetrics() -> [MetricFamily] {
        var longest = MetricFamily(
            "cumulus_writer_longest_turn_seconds",
            .gauge,
            "The longest time that the writer was at work on a batch, without its flush."
        )
        longest.add(Double(meter.longestTurn.value) / 1_000_000)
        var waiting = MetricFamily(
            "cumulus_queue_length",
            .gauge,
            "Work that waits for the writer, or for the threads that read from the disk."
        )
        waiting.add(Double(gate.waitingWrites), ("queue", "writer"))
        waiting.add(Double(gate.waitingReads), ("queue", "readers"))
        var room = MetricFamily(
            "cumulus_queue_limit",
            .gauge,
            "Work that may wait there; what comes beyond is refused."
        )
        let most = Double(configuration.limits.queuedWrites)
        room.add(most, ("queue", "writer"))
        // Reads have two queues of that room.
        room.add(2 * most, ("queue", "readers"))
        return [longest, waiting, room]
    }

    // MARK: Other nodes

    private func peerMetrics(_ reader: ReadTransaction?) -> [MetricFamily] {
        var connected = MetricFamily(
            "cumulus_peer_connected",
            .gauge,
            "1 if the node reads from the peer at this endpoint, 0 if it can't."
        )
        for peer in peers.withLock({ $0.values.sorted { $0.endpoint < $1.endpoint } }) {
            connected.add(peer.nodeID.isEmpty ? 0 : 1, ("endpoint", peer.endpoint))
        }
        var missing = MetricFamily(
            "cumulus_replication_lag_commits",
            .gauge,
            "Commits of this node that the member lacks, by its last report; they come every 10 s."
        )
        var lags = MetricFamily(
            "cumulus_replication_lag_seconds",
            .gauge,
            "Age of the oldest commit that the member lacks, by its last report; 0: it lacks none."
        )
        let now = clock
        for member in reader.flatMap({ try? members($0) }) ?? []
        where !member.isThis && !member.isRemoved {
            let label = ("peer", member.nodeID.hex)
            let oldest = member.reports.map(\.oldestMissing).filter { $0 > 0 }.min() ?? now
            missing.add(Double(member.reports.reduce(0) { $0 + $1.missing }), label)
            lags.add(Double(max(0, now - oldest)) / 1_000, label)
        }
        var delays = MetricFamily(
            "cumulus_replication_delay_seconds",
            .gauge,
            "Age of the newest commit that the peer sent last, when it arrived here."
        )
        let ages = meter.delays.withLock { $0 }
        for (peer, age) in ages.sorted(by: { precedes($0.key, $1.key) }) {
            delays.add(Double(age) / 1_000, ("peer", peer.hex))
        }
        return [connected, missing, lags, delays]
    }

    /// Notes how old the newest commit was that a peer sent.
    func noteArrival(of commits: [Bytes], from peer: Bytes) {
        guard let newest = commits.last, let head = try? CommitHead(newest) else { return }
        let age = max(0, clock - head.time.milliseconds)
        meter.delays.withLock { $0[peer] = age }
    }

    // MARK: Feeds

    private func feedMetrics() -> [MetricFamily] {
        [
            MetricFamily(
                "cumulus_followers",
                .gauge,
                "Streams that callers follow: changes and feeds.",
                meter.followers.value
            )
        ]
    }

    // MARK: Disk and process

    private func storeMetrics(_ reader: ReadTransaction?) -> [MetricFamily] {
        var sizes = MetricFamily(
            "cumulus_store_bytes",
            .gauge,
            "About how many bytes of disk the rows of each family take."
        )
        for family in Family.allCases where reader != nil {
            guard let size = try? gate.engine.byteCount(of: family, .everything) else { continue }
            sizes.add(Double(size), ("family", "\(family)"))
        }
        var free = MetricFamily(
            "cumulus_disk_free_bytes",
            .gauge,
            "Free bytes on the file system of the data directory."
        )
        if let bytes = gate.engine.freeBytes() { free.add(Double(bytes)) }
        let log = logBudget.withLock { $0 }
        return [
            sizes, free,
            MetricFamily(
                "cumulus_disk_reserve_bytes",
                .gauge,
                "Free bytes below which only deletes are taken.",
                configuration.diskReserve
            ),
            MetricFamily(
                "cumulus_asset_bytes",
                .gauge,
                "Bytes of the files that hold assets.",
                assets.storedBytes.value
            ),
            MetricFamily(
                "cumulus_log_bytes",
                .gauge,
                "Bytes of disk that the logs of commits take.",
                log.bytes
            ),
            MetricFamily(
                "cumulus_log_limit_bytes",
                .gauge,
                "Bytes of disk that the logs of commits may take.",
                log.limit
            ),
        ]
    }

    /// The names that all programs have in common.
    private func processMetrics() -> [MetricFamily] {
        let use = environment.processUse()
        var (start, processor, memory, files) = (
            MetricFamily("process_start_time_seconds", .gauge, "Start, since 1970."),
            MetricFamily("process_cpu_seconds_total", .counter, "Time on processors."),
            MetricFamily("process_resident_memory_bytes", .gauge, "Memory that is resident."),
            MetricFamily("process_open_fds", .gauge, "Open files and sockets.")
        )
        start.add(Double(started) / 1_000)
        if let seconds = use.processorSeconds { processor.add(seconds) }
        if let bytes = use.residentBytes { memory.add(Double(bytes)) }
        if let count = use.openFiles { files.add(Double(count)) }
        return [start, processor, memory, files]
    }
}
