// Prints what the Go struct tags say about every type below JobSetSpec, as JSON: how clients in Go encode a patch, and
// how a strategic merge patch treats it.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	jobset "sigs.k8s.io/jobset/api/jobset/v1alpha2"
)

type field struct {
	Kind     string `json:"kind"`               // scalar, object, list, map
	Type     string `json:"type,omitempty"`     // of the object, or of the list's or map's items
	Pointer  bool   `json:"pointer,omitempty"`  // zero differs from absent
	Omitted  bool   `json:"omitted,omitempty"`  // omitempty
	Strategy string `json:"strategy,omitempty"` // patchStrategy
	Key      string `json:"key,omitempty"`      // patchMergeKey
}

var types = map[string]map[string]field{}

var scalars = map[reflect.Type]bool{
	reflect.TypeOf(resource.Quantity{}):  true,
	reflect.TypeOf(intstr.IntOrString{}): true,
	reflect.TypeOf(metav1.Time{}):        true,
	reflect.TypeOf(metav1.MicroTime{}):   true,
	reflect.TypeOf(metav1.FieldsV1{}):    true,
}

func kind(t reflect.Type) (string, string) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if scalars[t] {
		return "scalar", ""
	}
	switch t.Kind() {
	case reflect.Struct:
		visit(t)
		return "object", t.String()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "scalar", ""
		}
		_, item := kind(t.Elem())
		return "list", item
	case reflect.Map:
		_, item := kind(t.Elem())
		return "map", item
	}
	return "scalar", ""
}

func visit(t reflect.Type) {
	if _, seen := types[t.String()]; seen {
		return
	}
	fields := map[string]field{}
	types[t.String()] = fields
	collect(t, fields)
}

func collect(t reflect.Type, fields map[string]field) {
	for i := range t.NumField() {
		f := t.Field(i)
		options := strings.Split(f.Tag.Get("json"), ",")
		if f.Anonymous && options[0] == "" {
			collect(f.Type, fields)
			continue
		}
		entry := field{Pointer: f.Type.Kind() == reflect.Pointer}
		entry.Kind, entry.Type = kind(f.Type)
		for _, option := range options[1:] {
			entry.Omitted = entry.Omitted || option == "omitempty" || option == "omitzero"
		}
		entry.Strategy = f.Tag.Get("patchStrategy")
		entry.Key = f.Tag.Get("patchMergeKey")
		fields[options[0]] = entry
	}
}

func main() {
	root := reflect.TypeOf(jobset.JobSetSpec{})
	visit(root)
	if err := json.NewEncoder(os.Stdout).Encode(map[string]any{"root": root.String(), "types": types}); err != nil {
		panic(err)
	}
}
