// Changes as they happen: which zones change, and what changes in a zone.

public import CumulusModel
import CumulusWire

extension Database.DatabaseChange {
    /// The news that a database's change sequence delivers at once.
    public struct Page: Hashable, Sendable {
        /// Zones that were made, or whose records changed.
        public var modifications: [Modification]
        /// Zones that are gone.
        public var deletions: [Deletion]
        /// How far the changes were told with this page: keep it once the page is applied.
        public var changeToken: ServerChangeToken
        /// Whether this page and those before it tell all that the node had.
        public var isUpToDate: Bool
    }
}

extension Database.RecordZoneChange {
    /// The news that a zone's change sequence delivers at once.
    public struct Page: Sendable {
        /// Records that were saved, as they are now.
        public var modifications: [Modification]
        /// Records that are gone.
        public var deletions: [Deletion]
        /// How far the changes were told with this page: keep it once the page is applied.
        public var changeToken: ServerChangeToken
        /// Whether this page and those before it tell all that the node had.
        public var isUpToDate: Bool
    }
}

extension Database {
    /// The zones that changed since a token, and from then on each zone that changes, at once.
    ///
    /// ```swift
    /// for try await page in database.followDatabaseChanges(since: token) {
    ///     // ... note the zones ...
    ///     token = page.changeToken
    /// }
    /// ```
    ///
    /// The sequence goes on until its task is cancelled, its loop is left or an error ends it. A
    /// lost connection or node is no error: the sequence goes on at another one. It ends with
    /// `changeTokenExpired` if the token can't be used any more, and as a call does if no node is
    /// reached for as long as a call may take.
    ///
    /// Unlike ``databaseChanges(since:resultsLimit:)``, and unlike CloudKit, it tells of default
    /// zones too, and follows the public database.
    ///
    /// - Parameter changeToken: The token of the last page, or of the last fetch of this database's
    ///   changes; nil means from the beginning.
    public func followDatabaseChanges(since changeToken: ServerChangeToken?)
        -> DatabaseChangeSequence
    {
        DatabaseChangeSequence(database: self, token: changeToken)
    }

    /// The changes in a zone since a token, and from then on each change as it happens.
    ///
    /// ```swift
    /// for try await page in database.followRecordZoneChanges(inZoneWith: zoneID, since: token) {
    ///     // ... apply the changes ...
    ///     token = page.changeToken
    ///     if page.isUpToDate { /* show them */ }
    /// }
    /// ```
    ///
    /// Records come as they are when they are told: one that is saved several times in a moment
    /// comes once. The sequence goes on until its task is cancelled, its loop is left or an error
    /// ends it. A lost connection or node is no error: the sequence goes on at another one. It ends
    /// with `zoneNotFound` or `userDeletedZone` if the zone is gone, with `changeTokenExpired` if
    /// it was made anew or the token can't be used any more, and as a call does if no node is
    /// reached for as long as a call may take.
    ///
    /// Unlike ``recordZoneChanges(inZoneWith:since:desiredKeys:resultsLimit:)``, and unlike
    /// CloudKit, it also follows default zones, including the public database's.
    ///
    /// - Parameters:
    ///   - zoneID: The zone.
    ///   - changeToken: The token of the last page, or of the last fetch of this zone's changes;
    ///     nil: from the
    ///     beginning, without deletions that are over.
    ///   - desiredKeys: The fields to tell; nil means all; empty: system fields only.
    public func followRecordZoneChanges(
        inZoneWith zoneID: RecordZone.ID,
        since changeToken: ServerChangeToken?,
        desiredKeys: [String]? = nil
    ) -> RecordZoneChangeSequence {
        RecordZoneChangeSequence(
            database: self,
            zoneID: zoneID,
            token: changeToken,
            desiredKeys: desiredKeys
        )
    }
}

/// Zones of a database as they change; see ``Database/followDatabaseChanges(since:)``.
public struct DatabaseChangeSequence: AsyncSequence, Sendable {
    /// Changes that are told at a time.
    public typealias Element = Database.DatabaseChange.Page
    /// A `ServiceError`.
    public typealias Failure = any Error

    let database: Database
    let token: ServerChangeToken?

    /// Begins behind the token; each iterator follows by itself.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Follows the changes.
    public struct Iterator: AsyncIteratorProtocol {
        /// Changes that are told at a time.
        public typealias Element = Database.DatabaseChange.Page
        /// A `ServiceError`.
        public typealias Failure = any Error

        private let database: Database
        private let stream: FollowedStream
        private var token: ServerChangeToken?
        private var isUpToDate = false

        init(_ sequence: DatabaseChangeSequence) {
            database = sequence.database
            token = sequence.token
            stream = FollowedStream(sequence.database.core, .changesFollowDatabase)
        }

        /// The next page; it comes when there is news.
        public mutating func next() async throws -> Database.DatabaseChange.Page? {
            while true {
                let (database, token) = (database, token)
                let message = try await stream.next {
                    FetchDatabaseChangesRequest(
                        database: database.databaseScope,
                        token: token?.bytes ?? [],
                        limit: 0
                    ).encoded()
                }
                let page = try decoding { try Database.DatabaseChange.Page(wire: message) }
                self.token = page.changeToken
                let isNews = !page.modifications.isEmpty || !page.deletions.isEmpty
                // Another node begins with word that there is nothing new.
                if !isNews, page.isUpToDate == isUpToDate { continue }
                isUpToDate = page.isUpToDate
                return page
            }
        }
    }
}

/// Records of a zone as they change; see
/// ``Database/followRecordZoneChanges(inZoneWith:since:desiredKeys:)``.
public struct RecordZoneChangeSequence: AsyncSequence, Sendable {
    /// Changes that are told at a time.
    public typealias Element = Database.RecordZoneChange.Page
    /// A `ServiceError`.
    public typealias Failure = any Error

    let database: Database
    let zoneID: RecordZone.ID
    let token: ServerChangeToken?
    let desiredKeys: [String]?

    /// Begins behind the token; each iterator follows by itself.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// Follows the changes.
    public struct Iterator: AsyncIteratorProtocol {
        /// Changes that are told at a time.
        public typealias Element = Database.RecordZoneChange.Page
        /// A `ServiceError`.
        public typealias Failure = any Error

        private let sequence: RecordZoneChangeSequence
        private let stream: FollowedStream
        private var token: ServerChangeToken?
        private var isUpToDate = false

        init(_ sequence: RecordZoneChangeSequence) {
            self.sequence = sequence
            token = sequence.token
            stream = FollowedStream(sequence.database.core, .changesFollowZone)
        }

        /// The next page; it comes when there is news.
        public mutating func next() async throws -> Database.RecordZoneChange.Page? {
            let core = sequence.database.core
            while true {
                let (sequence, token) = (sequence, token)
                let message = try await stream.next {
                    FetchZoneChangesRequest(
                        database: sequence.database.databaseScope,
                        zone: WireZoneID(sequence.zoneID),
                        token: token?.bytes ?? [],
                        limit: 0,
                        keys: sequence.desiredKeys.map { $0.map { Bytes($0.utf8) } }
                    ).encoded()
                }
                let page = try decoding {
                    try Database.RecordZoneChange.Page(wire: message, core.keyring)
                }
                self.token = page.changeToken
                let isNews = !page.modifications.isEmpty || !page.deletions.isEmpty
                // Another node begins with word that there is nothing new.
                if !isNews, page.isUpToDate == isUpToDate { continue }
                isUpToDate = page.isUpToDate
                return page
            }
        }
    }
}

// MARK: - Answers

extension Database.DatabaseChange.Page {
    /// An answer of the server to a fetch, or a message of its stream.
    init(wire message: Bytes) throws {
        let answer = try FetchDatabaseChangesResponse(wire: message)
        modifications = answer.changed.map { .init(zoneID: $0.id) }
        deletions = answer.deleted.map { deletion in
            Database.DatabaseChange.Deletion(
                zoneID: deletion.id.id,
                reason: .init(rawValue: deletion.cause) ?? .deleted
            )
        }
        changeToken = ServerChangeToken(answer.token)
        isUpToDate = !answer.moreComing
    }
}

extension Database.RecordZoneChange.Page {
    /// An answer of the server to a fetch, or a message of its stream.
    init(wire message: Bytes, _ keyring: Keyring) throws {
        let answer = try FetchZoneChangesResponse(wire: message)
        modifications = answer.changed.map { .init(record: keyring.opening($0)) }
        deletions = answer.deleted.map { deletion in
            Database.RecordZoneChange.Deletion(
                recordID: deletion.id.id,
                recordType: String(decoding: deletion.type, as: UTF8.self)
            )
        }
        changeToken = ServerChangeToken(answer.token)
        isUpToDate = !answer.moreComing
    }
}
