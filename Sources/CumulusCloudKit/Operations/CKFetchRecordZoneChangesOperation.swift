// Fetches what changed in zones.

internal import Cumulus
public import Foundation

/// From where and how a zone's changes are fetched:
/// `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
public final class CKFetchRecordZoneChangesConfiguration: NSObject, NSSecureCoding, NSCopying,
    @unchecked Sendable
{
    /// The token of the last fetch of the zone; nil means from the beginning.
    @_Guarded public var previousServerChangeToken: CKServerChangeToken? = nil
    /// Most records and deletions of a page; 0 means the server decides.
    @_Guarded public var resultsLimit = 0
    /// The fields to fetch; nil means all; empty: system fields only.
    @_Guarded public var desiredKeys: [CKRecord.FieldKey]? = nil

    /// From the beginning, with all fields.
    public override init() {}

    /// From a token, with these fields.
    public convenience init(
        previousServerChangeToken: CKServerChangeToken? = nil,
        resultsLimit: Int? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil
    ) {
        self.init()
        self.previousServerChangeToken = previousServerChangeToken
        self.resultsLimit = resultsLimit ?? 0
        self.desiredKeys = desiredKeys
    }

    /// Another configuration with the same content.
    public func copy(with zone: NSZone? = nil) -> Any {
        CKFetchRecordZoneChangesConfiguration(
            previousServerChangeToken: previousServerChangeToken,
            resultsLimit: resultsLimit,
            desiredKeys: desiredKeys
        )
    }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Archives the configuration.
    public func encode(with coder: NSCoder) {
        if let previousServerChangeToken {
            coder.encode(previousServerChangeToken, forKey: "previousServerChangeToken")
        }
        coder.encode(Int64(resultsLimit), forKey: "resultsLimit")
        if let desiredKeys { coder.encode(NSArray(array: desiredKeys), forKey: "desiredKeys") }
    }

    /// A configuration from an archive.
    public convenience init?(coder: NSCoder) {
        let keys = coder.decode([NSArray.self, NSString.self], forKey: "desiredKeys")
        self.init(
            previousServerChangeToken: coder.decode(
                CKServerChangeToken.self,
                forKey: "previousServerChangeToken"
            ),
            resultsLimit: Int(truncatingIfNeeded: coder.decodeInt64(forKey: "resultsLimit")),
            desiredKeys: keys as? [String]
        )
    }
}

/// Fetches what changed in zones, one after the other.
open class CKFetchRecordZoneChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    /// From where and how a zone's changes are fetched.
    public typealias ZoneConfiguration = CKFetchRecordZoneChangesConfiguration
    /// The old name of `ZoneConfiguration`.
    public typealias ZoneOptions = CKFetchRecordZoneChangesConfiguration

    /// The zones; nil means those with a configuration.
    ///
    /// One that stands here twice is fetched once.
    @_Guarded public var recordZoneIDs: [CKRecordZone.ID]? = nil
    /// From where and how; a zone without a configuration is fetched from the beginning.
    @_Guarded
    public var configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    /// Whether the operation goes on until there is no further page of a zone.
    @_Guarded public var fetchAllChanges = true
    /// Called for each record that was saved, as it is now.
    @_Block
    public var recordWasChangedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)? = nil
    /// Called for each record that is gone.
    @_Block
    public var recordWithIDWasDeletedBlock: ((CKRecord.ID, CKRecord.RecordType) -> Void)? = nil
    /// Called after each page of a zone.
    @_Block
    public var recordZoneChangeTokensUpdatedBlock:
        ((CKRecordZone.ID, CKServerChangeToken?, Data?) -> Void)? = nil
    /// Called at the end of each zone, with the token for its next fetch.
    @_Block
    public var recordZoneFetchResultBlock:
        (
            (
                CKRecordZone.ID,
                Result<
                    (
                        serverChangeToken: CKServerChangeToken, clientChangeTokenData: Data?,
                        moreComing: Bool
                    ), any Error
                >
            ) -> Void
        )? = nil
    /// Called at the end.
    @_Block
    public var fetchRecordZoneChangesResultBlock: ((Result<Void, any Error>) -> Void)? = nil
    /// The old form of `recordWasChangedBlock`.
    @_Block
    public var recordChangedBlock: ((CKRecord) -> Void)? = nil
    /// The old form of `recordZoneFetchResultBlock`.
    @_Block
    public var recordZoneFetchCompletionBlock:
        (
            (
                CKRecordZone.ID, CKServerChangeToken?, Data?, Bool, (any Error)?
            ) -> Void
        )? = nil
    /// The old form of `fetchRecordZoneChangesResultBlock`.
    @_Block
    public var fetchRecordZoneChangesCompletionBlock: (((any Error)?) -> Void)? = nil

    /// An operation without inputs.
    public override init() {}

    /// Fetches what changed in these zones.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID]? = nil,
        configurationsByRecordZoneID: [CKRecordZone.ID: ZoneConfiguration]? = nil
    ) {
        self.init()
        self.recordZoneIDs = recordZoneIDs
        self.configurationsByRecordZoneID = configurationsByRecordZoneID
    }

    /// Fetches what changed in these zones.
    public convenience init(
        recordZoneIDs: [CKRecordZone.ID],
        optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]?
    ) {
        self.init(
            recordZoneIDs: recordZoneIDs,
            configurationsByRecordZoneID: optionsByRecordZoneID
        )
    }

    /// The old name of `configurationsByRecordZoneID`.
    public var optionsByRecordZoneID: [CKRecordZone.ID: ZoneOptions]? {
        get { configurationsByRecordZoneID }
        set { configurationsByRecordZoneID = newValue }
    }

    override func run() async throws {
        let configurations = configurationsByRecordZoneID ?? [:]
        let zones = recordZoneIDs ?? configurations.keys.sorted { $0.zoneName < $1.zoneName }
        var errors: [AnyHashable: any Error] = [:]
        var lasting: CKError?
        var begun: Set<CKRecordZone.ID> = []
        for zone in zones where begun.insert(zone).inserted {
            do {
                if let lasting { throw lasting }
                try await fetch(zone, configurations[zone] ?? ZoneConfiguration())
            } catch {
                let error = CKError(any: error)
                if error.concernsAllZones { lasting = error }
                errors[zone] = error
                recordZoneFetchResultBlock?(zone, .failure(error))
                recordZoneFetchCompletionBlock?(zone, nil, nil, false, error)
            }
        }
        if let error = lasting ?? CKError.partial(errors) { throw error }
    }

    private func fetch(_ zone: CKRecordZone.ID, _ settings: ZoneConfiguration) async throws {
        var token = settings.previousServerChangeToken
        let limit = settings.resultsLimit == 0 ? nil : settings.resultsLimit
        let keys = settings.desiredKeys
        while true {
            let page = try await call { [token] database in
                try await database.changes(
                    in: zone,
                    since: token,
                    desiredKeys: keys,
                    limit: limit
                )
            }
            tell(page)
            token = page.changeToken
            recordZoneChangeTokensUpdatedBlock?(zone, token, nil)
            guard page.moreComing, fetchAllChanges else {
                recordZoneFetchResultBlock?(
                    zone,
                    .success((page.changeToken, nil, page.moreComing))
                )
                recordZoneFetchCompletionBlock?(zone, token, nil, page.moreComing, nil)
                return
            }
        }
    }

    private func tell(_ page: ZonePage) {
        for (id, result) in page.modificationResultsByID {
            let record = result.map(\.record)
            recordWasChangedBlock?(id, record)
            if case .success(let record) = record { recordChangedBlock?(record) }
        }
        for deletion in page.deletions {
            recordWithIDWasDeletedBlock?(deletion.recordID, deletion.recordType)
        }
    }

    override func conclude(_ error: CKError?) {
        fetchRecordZoneChangesResultBlock?(error.map { .failure($0) } ?? .success(()))
        fetchRecordZoneChangesCompletionBlock?(error)
    }
}

extension CKError {
    /// Whether the same call for another zone would fail too.
    fileprivate var concernsAllZones: Bool {
        switch code {
        case .zoneNotFound, .userDeletedZone, .changeTokenExpired, .invalidArguments,
            .permissionFailure, .zoneBusy:
            false
        default: true
        }
    }
}
