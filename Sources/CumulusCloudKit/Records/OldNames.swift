// The names of CloudKit's first years that have newer ones.
//
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The old name of `CKRecord.SystemType.userRecord`.
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
/// The old name of `CKRecord.SystemFieldKey.recordID`.
public let CKRecordRecordIDKey = CKRecord.SystemFieldKey.recordID
/// The old name of `CKRecord.SystemFieldKey.creationDate`.
public let CKRecordCreationDateKey = CKRecord.SystemFieldKey.creationDate
/// The old name of `CKRecord.SystemFieldKey.modificationDate`.
public let CKRecordModificationDateKey = CKRecord.SystemFieldKey.modificationDate
/// The old name of `CKRecord.SystemFieldKey.creatorUserRecordID`.
public let CKRecordCreatorUserRecordIDKey = CKRecord.SystemFieldKey.creatorUserRecordID
/// The old name of `CKRecord.SystemFieldKey.lastModifiedUserRecordID`.
public let CKRecordLastModifiedUserRecordIDKey = CKRecord.SystemFieldKey
    .lastModifiedUserRecordID
/// The old name of `CKRecord.SystemFieldKey.parent`.
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
/// The old name of `CKRecord.SystemFieldKey.share`.
public let CKRecordShareKey = CKRecord.SystemFieldKey.share

/// The old name of `CKRecord.SystemType.share`.
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The old name of `CKShare.SystemFieldKey.title`.
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The old name of `CKShare.SystemFieldKey.thumbnailImageData`.
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
/// The old name of `CKShare.SystemFieldKey.shareType`.
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

/// The old name of `CKQueryOperation.maximumResults`.
public let CKQueryOperationMaximumResults = CKQueryOperation.maximumResults

/// The old name of `CKShare.ParticipantType`.
public typealias CKShareParticipantType = CKShare.ParticipantType
/// The old name of `CKQuerySubscription.Options`.
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options
/// The old name of `CKSubscription.SubscriptionType`.
public typealias CKSubscriptionType = CKSubscription.SubscriptionType
/// The old name of `CKDatabase.Scope`.
public typealias CKDatabaseScope = CKDatabase.Scope
/// The old name of `CKRecordZone.Capabilities`.
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
/// The old name of `CKError.Code`.
public typealias CKErrorCode = CKError.Code
/// The old name of `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
public typealias CKFetchRecordZoneChangesOptions = CKFetchRecordZoneChangesConfiguration
/// The old name of `CKOperationGroup.TransferSize`.
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize

/// The old name of `CKNotification.NotificationType`.
public typealias CKNotificationType = CKNotification.NotificationType
/// The old name of `CKQueryNotification.Reason`.
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
/// The old name of `CKContainer.ApplicationPermissions`.
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions
/// The old name of `CKContainer.ApplicationPermissionStatus`.
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus

/// The old name of `CKContainer.ApplicationPermissions`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
/// The old name of `CKContainer.ApplicationPermissionStatus`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// The old name of `CKContainer.ApplicationPermissionBlock`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
/// The old name of `CKRecord.ReferenceAction`.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
/// The old name of `CKShare.ParticipantAcceptanceStatus`.
@available(*, deprecated, renamed: "CKShare.ParticipantAcceptanceStatus")
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The old name of `CKShare.ParticipantPermission`.
@available(*, deprecated, renamed: "CKShare.ParticipantPermission")
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// The old name of `CKShare.ParticipantRole`.
@available(*, deprecated, renamed: "CKShare.ParticipantRole")
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
/// The old name of `CKShare.ParticipantType`.
@available(*, deprecated, renamed: "CKShare.ParticipantType")
public typealias CKShare_Participant_ParticipantType = CKShare.ParticipantType
