// Descriptions of a sync engine's values, for people.
//
// Used by logs of apps. The state of an engine is left out: it is long, and opaque.

extension CKSyncEngine: CustomStringConvertible {
    /// The database, and how much is pending.
    public var description: String {
        """
        <CKSyncEngine: \
        database=\(database.databaseScope), \
        pendingRecordZoneChanges=\(state.pendingRecordZoneChanges.count), \
        pendingDatabaseChanges=\(state.pendingDatabaseChanges.count)>
        """
    }
}

extension CKSyncEngine.Configuration: CustomStringConvertible {
    /// The database and the settings.
    public var description: String {
        """
        <Configuration: \
        database=\(database.databaseScope), \
        automaticallySync=\(automaticallySync), \
        subscriptionID=\(subscriptionID ?? "nil")>
        """
    }
}

// MARK: - Events

extension CKSyncEngine.Event: CustomStringConvertible {
    /// The event.
    public var description: String {
        switch self {
        case .stateUpdate(let event): event.description
        case .accountChange(let event): event.description
        case .fetchedDatabaseChanges(let event): event.description
        case .fetchedRecordZoneChanges(let event): event.description
        case .sentDatabaseChanges(let event): event.description
        case .sentRecordZoneChanges(let event): event.description
        case .willFetchChanges(let event): event.description
        case .willFetchRecordZoneChanges(let event): event.description
        case .didFetchRecordZoneChanges(let event): event.description
        case .didFetchChanges(let event): event.description
        case .willSendChanges(let event): event.description
        case .didSendChanges(let event): event.description
        }
    }
}

extension CKSyncEngine.Event.StateUpdate: CustomStringConvertible {
    /// The name of the event.
    public var description: String { "<StateUpdate>" }
}

extension CKSyncEngine.Event.AccountChange: CustomStringConvertible {
    /// The change, and the account.
    public var description: String {
        switch changeType {
        case .signIn(let user): "<AccountChange: signIn=\(user)>"
        case .signOut(let user): "<AccountChange: signOut=\(user)>"
        case .switchAccounts(let previous, let current):
            "<AccountChange: previousUser=\(previous), currentUser=\(current)>"
        }
    }
}

extension CKSyncEngine.Event.FetchedDatabaseChanges: CustomStringConvertible {
    /// The names of the zones.
    public var description: String {
        """
        <FetchedDatabaseChanges: \
        modifications=\(modifications.map(\.zoneID)), \
        deletions=\(deletions.map(\.zoneID))>
        """
    }
}

extension CKSyncEngine.Event.FetchedRecordZoneChanges: CustomStringConvertible {
    /// The names of the records.
    public var description: String {
        """
        <FetchedRecordZoneChanges: \
        modifications=\(modifications.map(\.record.recordID)), \
        deletions=\(deletions.map(\.recordID))>
        """
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges: CustomStringConvertible {
    /// The names of the zones, and what failed.
    public var description: String {
        """
        <SentDatabaseChanges: \
        savedZones=\(savedZones.map(\.zoneID)), \
        failedZoneSaves=\(failedZoneSaves), \
        deletedZoneIDs=\(deletedZoneIDs), \
        failedZoneDeletes=\(failedZoneDeletes)>
        """
    }
}

extension CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave: CustomStringConvertible {
    /// The name of the zone, and the error.
    public var description: String { "<FailedZoneSave: zone=\(zone.zoneID), error=\(error)>" }
}

extension CKSyncEngine.Event.SentRecordZoneChanges: CustomStringConvertible {
    /// The names of the records, and what failed.
    public var description: String {
        """
        <SentRecordZoneChanges: \
        savedRecords=\(savedRecords.map(\.recordID)), \
        failedRecordSaves=\(failedRecordSaves), \
        deletedRecordIDs=\(deletedRecordIDs), \
        failedRecordDeletes=\(failedRecordDeletes)>
        """
    }
}

extension CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave: CustomStringConvertible {
    /// The name of the record, and the error.
    public var description: String {
        "<FailedRecordSave: record=\(record.recordID), error=\(error)>"
    }
}

extension CKSyncEngine.Event.WillFetchChanges: CustomStringConvertible {
    /// Why and what the engine fetches.
    public var description: String { "<WillFetchChanges: context=\(context)>" }
}

extension CKSyncEngine.Event.DidFetchChanges: CustomStringConvertible {
    /// Why and what the engine fetched.
    public var description: String { "<DidFetchChanges: context=\(context)>" }
}

extension CKSyncEngine.Event.WillFetchRecordZoneChanges: CustomStringConvertible {
    /// The name of the zone.
    public var description: String { "<WillFetchRecordZoneChanges: zoneID=\(zoneID)>" }
}

extension CKSyncEngine.Event.DidFetchRecordZoneChanges: CustomStringConvertible {
    /// The name of the zone, and the error.
    public var description: String {
        let failure = error.map { "\($0)" } ?? "nil"
        return "<DidFetchRecordZoneChanges: zoneID=\(zoneID), error=\(failure)>"
    }
}

extension CKSyncEngine.Event.WillSendChanges: CustomStringConvertible {
    /// Why and what the engine sends.
    public var description: String { "<WillSendChanges: context=\(context)>" }
}

extension CKSyncEngine.Event.DidSendChanges: CustomStringConvertible {
    /// Why and what the engine sent.
    public var description: String { "<DidSendChanges: context=\(context)>" }
}

// MARK: - Changes and options

extension CKSyncEngine.RecordZoneChangeBatch: CustomStringConvertible {
    /// The names of the records.
    public var description: String {
        """
        <RecordZoneChangeBatch: \
        recordsToSave=\(recordsToSave.map(\.recordID)), \
        recordIDsToDelete=\(recordIDsToDelete), \
        atomicByZone=\(atomicByZone)>
        """
    }
}

extension CKSyncEngine.PendingRecordZoneChange: CustomStringConvertible {
    /// The change, and the name of the record.
    public var description: String {
        switch self {
        case .saveRecord(let id): "saveRecord(\(id))"
        case .deleteRecord(let id): "deleteRecord(\(id))"
        }
    }
}

extension CKSyncEngine.PendingDatabaseChange: CustomStringConvertible {
    /// The change, and the name of the zone.
    public var description: String {
        switch self {
        case .saveZone(let zone): "saveZone(\(zone.zoneID))"
        case .deleteZone(let id): "deleteZone(\(id))"
        }
    }
}

extension CKSyncEngine.SyncReason: CustomStringConvertible {
    /// The name of the reason.
    public var description: String {
        switch self {
        case .scheduled: "scheduled"
        case .manual: "manual"
        }
    }
}

extension CKSyncEngine.FetchChangesOptions: CustomStringConvertible {
    /// The zones, and the ones that come first.
    public var description: String {
        "<FetchChangesOptions: scope=\(scope), prioritizedZoneIDs=\(prioritizedZoneIDs)>"
    }
}

extension CKSyncEngine.FetchChangesOptions.Scope: CustomStringConvertible {
    /// The zones.
    public var description: String {
        switch self {
        case .all: "all"
        case .allExcluding(let ids): "allExcluding(\(ids))"
        case .zoneIDs(let ids): "zoneIDs(\(ids))"
        }
    }
}

extension CKSyncEngine.SendChangesOptions: CustomStringConvertible {
    /// The scope of the changes.
    public var description: String { "<SendChangesOptions: scope=\(scope)>" }
}

extension CKSyncEngine.SendChangesOptions.Scope: CustomStringConvertible {
    /// The scope of the changes.
    public var description: String {
        switch self {
        case .all: "all"
        case .allExcluding(let ids): "allExcluding(\(ids))"
        case .zoneIDs(let ids): "zoneIDs(\(ids))"
        case .recordIDs(let ids): "recordIDs(\(ids))"
        }
    }
}

extension CKSyncEngine.FetchChangesContext: CustomStringConvertible {
    /// The reason and the options.
    public var description: String { "<FetchChangesContext: reason=\(reason), options=\(options)>" }
}

extension CKSyncEngine.SendChangesContext: CustomStringConvertible {
    /// The reason and the options.
    public var description: String { "<SendChangesContext: reason=\(reason), options=\(options)>" }
}
