// The token of a browser that waits for notifications: whose feeds it is told, and where each of
// them began.
//
// Sealed into the URL that the browser polls, and shown as the `apnsToken` too, by which a page
// adds the feed of another container. Nothing about it is kept on a disk.

package import CumulusModel

package struct CourierToken: Hashable, Sendable {
    /// One user's feed in one container.
    package struct Station: Hashable, Sendable {
        /// Random; names the station in the memory of a node.
        package var id: UInt64
        package var access: WebAccess
        /// The feed's token when the browser registered.
        package var feed: Bytes
        /// The browser's device id: what this device changes is not told to it.
        package var device: Bytes

        /// - Parameter device: nil means a browser without a `clientId`.
        package init(id: UInt64, access: WebAccess, feed: Bytes, device: Bytes? = nil) {
            self.id = id
            self.access = access
            self.feed = feed
            self.device = device ?? access.device(of: "")
        }
    }

    /// The stations, at least one.
    package private(set) var stations: [Station]
    /// When the last of them was added, in milliseconds since 1970 UTC.
    package private(set) var made: Int64

    /// Containers of one page.
    package static let mostStations = 8
    /// How long it is good, in milliseconds: as long as the longest session in a browser.
    package static let time: Int64 = WebToken.kept
    /// The prefix of the sealed content.
    private static let label = "courier"
    /// The prefix if browsers have a `clientId`: their device ids follow.
    ///
    /// Nodes of the release before read tokens of browsers without one.
    private static let clientLabel = "courier of clients"

    package init(_ station: Station, made: Int64) {
        stations = [station]
        self.made = made
    }

    /// Adds a feed, in place of another one in the same container; the oldest goes if there are too
    /// many.
    package mutating func add(_ station: Station, now: Int64) {
        stations.removeAll { $0.access.scope == station.access.scope }
        stations.append(station)
        if stations.count > CourierToken.mostStations { stations.removeFirst() }
        made = now
    }

    /// - Parameter now: Milliseconds since 1970 UTC.
    package func isGood(now: Int64) -> Bool {
        now - made > -WebLink.clockSkew && now - made < CourierToken.time
    }

    // MARK: URLs

    /// The path before a token.
    package static let path = "/device/1/courier/"

    /// The token in the target of a request; nil if the target is another one.
    package static func token(of target: String) -> Substring? {
        WebText.lastPart(of: target, after: CourierToken.path)
    }

    // MARK: Bytes

    package var content: Bytes {
        var writer = CanonicalWriter()
        let hasClients = stations.contains { $0.device != $0.access.device(of: "") }
        writer.delimited((hasClients ? CourierToken.clientLabel : CourierToken.label).utf8)
        writer.varint(zigzag(made))
        writer.varint(UInt64(stations.count))
        for station in stations {
            writer.bigEndian(station.id)
            station.access.write(to: &writer)
            writer.delimited(station.feed)
        }
        if hasClients {
            for station in stations { writer.delimited(station.device) }
        }
        return writer.bytes
    }

    package init(content: Bytes) throws(MalformedBytes) {
        var reader = CanonicalReader(content)
        let label = try reader.text()
        guard label == CourierToken.label || label == CourierToken.clientLabel else {
            throw MalformedBytes("something else than the token of a courier")
        }
        made = try reader.signed()
        stations = []
        for _ in 0..<(try reader.count(limit: CourierToken.mostStations)) {
            let id = try reader.bigEndian()
            let access = try WebAccess(reading: &reader)
            stations.append(Station(id: id, access: access, feed: try reader.delimitedBytes()))
        }
        if label == CourierToken.clientLabel {
            for index in stations.indices { stations[index].device = try reader.delimitedBytes() }
        }
        guard reader.isAtEnd, !stations.isEmpty else {
            throw MalformedBytes("the token of a courier of another length")
        }
    }
}
