// All rules for merging Kubernetes' types.
//
// Source: the Go struct tags `patchStrategy`, `patchMergeKey` and `omitempty` of k8s.io/api v0.36.3 (core/v1,
// batch/v1), k8s.io/apimachinery v0.36.3 (meta/v1) and sigs.k8s.io/jobset v0.12.0 (JobSetSpec).
// tests/cluster/admission/test_merge.py reads these tags and compares them. The differences are
// - `resources.claims`: core/v1 has no merge key for it.
// - One-of groups: the Go types use `$retainKeys`, which a typed patch cannot carry.
// - `serviceAccountName`: it is a pointer in TrainJob's own PodSpecPatch.
// - Required strings: a typed client also sends them empty. No object is valid with an empty one, so here an
//   empty string has no effect, as in all other fields.
#include "merge/schema.hpp"

#include <algorithm>

namespace merge {
namespace {

constexpr Field object(std::string_view name, const Type& type) { return {name, Strategy::deep, &type, {}}; }
constexpr Field merged(std::string_view name, const Type& item, std::string_view key) {
    return {name, Strategy::by_key, &item, key};
}
// A list that the patch replaces. It has a row only because of the fields of its items.
constexpr Field replaced(std::string_view name, const Type& item) {
    return {name, Strategy::deep, &item, {}};
}
constexpr Field set_of_scalars(std::string_view name) { return {name, Strategy::as_set, nullptr, {}}; }
constexpr Field string_map(std::string_view name) { return {name, Strategy::literal_map, nullptr, {}}; }
// A pointer in Go, or a scalar without omitempty: clients send false, 0 and "".
constexpr Field zero_counts(std::string_view name) { return {name, Strategy::keep_zero, nullptr, {}}; }

constexpr OneOf any_member = {OneOf::Members::all};
constexpr OneOf any_but_name = {OneOf::Members::all_but_name};
constexpr OneOf value_or_source = {OneOf::Members::listed, "value", "valueFrom"};

// --- metadata and selectors ---

constexpr Type named = {"LocalObjectReference"};

constexpr Field owner_reference_fields[] = {zero_counts("controller"), zero_counts("blockOwnerDeletion")};
constexpr Type owner_reference = {"OwnerReference", owner_reference_fields};

constexpr Field metadata_fields[] = {string_map("labels"), string_map("annotations"),
                                     set_of_scalars("finalizers"),
                                     merged("ownerReferences", owner_reference, "uid")};
constexpr Type metadata = {"ObjectMeta", metadata_fields};

constexpr Field label_selector_fields[] = {string_map("matchLabels")};
constexpr Type label_selector = {"LabelSelector", label_selector_fields};

// --- affinity and tolerations: the patch replaces every list ---

constexpr Field weighted_fields[] = {zero_counts("weight")};
constexpr Type preferred_scheduling_term = {"PreferredSchedulingTerm", weighted_fields};

constexpr Field node_affinity_fields[] = {
    replaced("preferredDuringSchedulingIgnoredDuringExecution", preferred_scheduling_term)};
constexpr Type node_affinity = {"NodeAffinity", node_affinity_fields};

constexpr Field pod_affinity_term_fields[] = {object("labelSelector", label_selector),
                                              object("namespaceSelector", label_selector)};
constexpr Type pod_affinity_term = {"PodAffinityTerm", pod_affinity_term_fields};
constexpr Field weighted_pod_affinity_term_fields[] = {zero_counts("weight"),
                                                       object("podAffinityTerm", pod_affinity_term)};
constexpr Type weighted_pod_affinity_term = {"WeightedPodAffinityTerm", weighted_pod_affinity_term_fields};

constexpr Field pod_affinity_fields[] = {
    replaced("requiredDuringSchedulingIgnoredDuringExecution", pod_affinity_term),
    replaced("preferredDuringSchedulingIgnoredDuringExecution", weighted_pod_affinity_term)};
constexpr Type pod_affinity = {"PodAffinity", pod_affinity_fields};

constexpr Field affinity_fields[] = {object("nodeAffinity", node_affinity),
                                     object("podAffinity", pod_affinity),
                                     object("podAntiAffinity", pod_affinity)};
constexpr Type affinity = {"Affinity", affinity_fields};

constexpr Field toleration_fields[] = {zero_counts("tolerationSeconds")};
constexpr Type toleration = {"Toleration", toleration_fields};

// --- security ---

constexpr Field windows_options_fields[] = {zero_counts("gmsaCredentialSpecName"),
                                            zero_counts("gmsaCredentialSpec"), zero_counts("runAsUserName"),
                                            zero_counts("hostProcess")};
constexpr Type windows_options = {"WindowsSecurityContextOptions", windows_options_fields};

constexpr Field profile_fields[] = {zero_counts("localhostProfile")};
constexpr Type profile = {"SeccompProfile or AppArmorProfile", profile_fields};

constexpr Field sysctl_fields[] = {zero_counts("value")};
constexpr Type sysctl = {"Sysctl", sysctl_fields};

constexpr Field pod_security_fields[] = {
    zero_counts("runAsUser"),           zero_counts("runAsGroup"),
    zero_counts("runAsNonRoot"),        zero_counts("fsGroup"),
    zero_counts("fsGroupChangePolicy"), zero_counts("supplementalGroupsPolicy"),
    zero_counts("seLinuxChangePolicy"), object("windowsOptions", windows_options),
    object("seccompProfile", profile),  object("appArmorProfile", profile),
    replaced("sysctls", sysctl)};
constexpr Type pod_security = {"PodSecurityContext", pod_security_fields};

constexpr Field container_security_fields[] = {
    zero_counts("privileged"),          zero_counts("runAsUser"),
    zero_counts("runAsGroup"),          zero_counts("runAsNonRoot"),
    zero_counts("procMount"),           zero_counts("readOnlyRootFilesystem"),
    object("seccompProfile", profile),  zero_counts("allowPrivilegeEscalation"),
    object("appArmorProfile", profile), object("windowsOptions", windows_options)};
constexpr Type container_security = {"SecurityContext", container_security_fields};

// --- volumes: merged by name; the patch replaces every list of a source ---

constexpr Field mode_fields[] = {zero_counts("mode")};
constexpr Type with_mode = {"KeyToPath or DownwardAPIVolumeFile", mode_fields};

constexpr Field files_fields[] = {zero_counts("defaultMode"), zero_counts("optional"),
                                  replaced("items", with_mode)};
constexpr Type files = {"Secret-, ConfigMap- or DownwardAPIVolumeSource", files_fields};

constexpr Field token_fields[] = {zero_counts("expirationSeconds")};
constexpr Type service_account_token = {"ServiceAccountTokenProjection", token_fields};
constexpr Field trust_bundle_fields[] = {zero_counts("name"), zero_counts("signerName"),
                                         zero_counts("optional"), object("labelSelector", label_selector)};
constexpr Type trust_bundle = {"ClusterTrustBundleProjection", trust_bundle_fields};
constexpr Field certificate_fields[] = {zero_counts("maxExpirationSeconds"), string_map("userAnnotations")};
constexpr Type pod_certificate = {"PodCertificateProjection", certificate_fields};
constexpr Field projection_fields[] = {object("secret", files),
                                       object("configMap", files),
                                       object("downwardAPI", files),
                                       object("serviceAccountToken", service_account_token),
                                       object("clusterTrustBundle", trust_bundle),
                                       object("podCertificate", pod_certificate)};
constexpr Type projection = {"VolumeProjection", projection_fields};
constexpr Field projected_fields[] = {zero_counts("defaultMode"), replaced("sources", projection)};
constexpr Type projected = {"ProjectedVolumeSource", projected_fields};

constexpr Field empty_dir_fields[] = {zero_counts("sizeLimit")};
constexpr Type empty_dir = {"EmptyDirVolumeSource", empty_dir_fields};
constexpr Field host_path_fields[] = {zero_counts("type")};
constexpr Type host_path = {"HostPathVolumeSource", host_path_fields};
constexpr Field lun_fields[] = {zero_counts("lun"), zero_counts("initiatorName")};
constexpr Type with_lun = {"FC- or ISCSIVolumeSource", lun_fields};
constexpr Field azure_disk_fields[] = {zero_counts("cachingMode"), zero_counts("fsType"),
                                       zero_counts("readOnly"), zero_counts("kind")};
constexpr Type azure_disk = {"AzureDiskVolumeSource", azure_disk_fields};
constexpr Field csi_fields[] = {zero_counts("readOnly"), zero_counts("fsType"),
                                string_map("volumeAttributes")};
constexpr Type csi = {"CSIVolumeSource", csi_fields};
constexpr Field flex_fields[] = {string_map("options")};
constexpr Type flex = {"FlexVolumeSource", flex_fields};

constexpr Field claim_resources_fields[] = {string_map("limits"), string_map("requests")};
constexpr Type claim_resources = {"VolumeResourceRequirements", claim_resources_fields};
constexpr Field typed_reference_fields[] = {zero_counts("apiGroup"), zero_counts("namespace")};
constexpr Type typed_reference = {"TypedObjectReference", typed_reference_fields};
constexpr Field claim_spec_fields[] = {
    zero_counts("storageClassName"),          zero_counts("volumeMode"),
    zero_counts("volumeAttributesClassName"), object("selector", label_selector),
    object("resources", claim_resources),     object("dataSource", typed_reference),
    object("dataSourceRef", typed_reference)};
constexpr Type claim_spec = {"PersistentVolumeClaimSpec", claim_spec_fields};
constexpr Field claim_template_fields[] = {object("metadata", metadata), object("spec", claim_spec)};
constexpr Type claim_template = {"PersistentVolumeClaimTemplate", claim_template_fields};
constexpr Field ephemeral_fields[] = {object("volumeClaimTemplate", claim_template)};
constexpr Type ephemeral = {"EphemeralVolumeSource", ephemeral_fields};

constexpr Field volume_fields[] = {object("emptyDir", empty_dir),   object("hostPath", host_path),
                                   object("secret", files),         object("configMap", files),
                                   object("downwardAPI", files),    object("projected", projected),
                                   object("iscsi", with_lun),       object("fc", with_lun),
                                   object("azureDisk", azure_disk), object("csi", csi),
                                   object("flexVolume", flex),      object("ephemeral", ephemeral)};
constexpr Type volume = {"Volume", volume_fields, any_but_name};

// --- containers ---

constexpr Field key_selector_fields[] = {zero_counts("optional")};
constexpr Type key_selector = {"SecretKey-, ConfigMapKey- or FileKeySelector", key_selector_fields};
constexpr Field env_source_fields[] = {object("secretKeyRef", key_selector),
                                       object("configMapKeyRef", key_selector),
                                       object("fileKeyRef", key_selector)};
constexpr Type env_source = {"EnvVarSource", env_source_fields, any_member};
constexpr Field env_fields[] = {object("valueFrom", env_source)};
constexpr Type env = {"EnvVar", env_fields, value_or_source};

constexpr Field volume_mount_fields[] = {zero_counts("recursiveReadOnly"), zero_counts("mountPropagation")};
constexpr Type volume_mount = {"VolumeMount", volume_mount_fields};

constexpr Type resource_claim = {"ResourceClaim"};
constexpr Field resources_fields[] = {string_map("limits"), string_map("requests"),
                                      merged("claims", resource_claim, "name")};
constexpr Type resources = {"ResourceRequirements", resources_fields};

constexpr Field container_fields[] = {
    merged("env", env, "name"), merged("volumeMounts", volume_mount, "mountPath"),
    object("securityContext", container_security), object("resources", resources)};
constexpr Type container = {"Container", container_fields};

// --- Pod, Job, JobSet ---

constexpr Field pod_claim_fields[] = {zero_counts("resourceClaimName"),
                                      zero_counts("resourceClaimTemplateName")};
constexpr Type pod_claim = {"PodResourceClaim", pod_claim_fields, any_but_name};

constexpr Field pod_spec_fields[] = {
    merged("volumes", volume, "name"),        merged("initContainers", container, "name"),
    merged("containers", container, "name"),  merged("imagePullSecrets", named, "name"),
    merged("schedulingGates", named, "name"), merged("resourceClaims", pod_claim, "name"),
    replaced("tolerations", toleration),      object("affinity", affinity),
    object("securityContext", pod_security),  string_map("nodeSelector"),
    zero_counts("serviceAccountName"),        zero_counts("terminationGracePeriodSeconds")};
constexpr Type pod_spec = {"PodSpec", pod_spec_fields};

constexpr Field pod_template_fields[] = {object("metadata", metadata), object("spec", pod_spec)};
constexpr Type pod_template = {"PodTemplateSpec", pod_template_fields};
constexpr Field job_fields[] = {object("template", pod_template)};
constexpr Type job = {"JobSpec", job_fields};
constexpr Field job_template_fields[] = {object("metadata", metadata), object("spec", job)};
constexpr Type job_template = {"JobTemplateSpec", job_template_fields};
constexpr Field replicated_job_fields[] = {object("template", job_template)};
constexpr Type replicated_job = {"ReplicatedJob", replicated_job_fields};
constexpr Field job_set_fields[] = {merged("replicatedJobs", replicated_job, "name")};
constexpr Type job_set = {"JobSetSpec", job_set_fields};

}  // namespace

const Field* find_field(const Type* type, std::string_view name) {
    if (!type) return nullptr;
    const auto found = std::find_if(type->fields.begin(), type->fields.end(),
                                    [name](const Field& field) { return field.name == name; });
    return found == type->fields.end() ? nullptr : &*found;
}

const Type& job_set_spec() { return job_set; }

const Type& resource_requirements() { return resources; }

}  // namespace merge
