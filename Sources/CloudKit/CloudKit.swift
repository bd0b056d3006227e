// `import CloudKit` on Linux: all of CumulusCloudKit.
//
// Nothing else is in this module, so that apps written for CloudKit need no other import.

#if !canImport(ObjectiveC)

    @_exported public import CumulusCloudKit

#endif
