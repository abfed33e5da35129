// Package manifests holds the manifests of docs/kubernetes to the types of Kubernetes. It is a module of its own, so
// that what it takes from there is no dependency of pipetune.
package manifests

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// kinds are what the manifests may hold. A file without a kind is a container for kubectl debug --custom.
var kinds = map[string]func() any{
	"v1 Service":        func() any { return &corev1.Service{} },
	"batch/v1 Job":      func() any { return &batchv1.Job{} },
	"apps/v1 DaemonSet": func() any { return &appsv1.DaemonSet{} },
	" ":                 func() any { return &corev1.Container{} },
}

// decode reads one document strictly: a field that Kubernetes does not know, or that stands twice, is an error.
func decode(document []byte) (any, error) {
	var head metav1.TypeMeta
	if err := yaml.Unmarshal(document, &head); err != nil {
		return nil, err
	}
	object := any(&metav1.Status{}) // which no manifest is
	if kind := kinds[head.APIVersion+" "+head.Kind]; kind != nil {
		object = kind()
	}
	return object, yaml.UnmarshalStrict(document, object)
}

func TestManifestsAreWhatKubernetesTakes(t *testing.T) {
	files, err := filepath.Glob("../../docs/kubernetes/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range bytes.Split(b, []byte("\n---\n")) {
			object, err := decode(document)
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			for _, c := range containers(object) {
				if c.Image == "" || len(c.Command) == 0 {
					t.Errorf("%s: container %s has no image or no command", file, c.Name)
				}
			}
		}
	}
}

// containers are those of an object, and each mount of theirs has a volume.
func containers(object any) []corev1.Container {
	var spec corev1.PodSpec
	switch o := object.(type) {
	case *corev1.Container:
		return []corev1.Container{*o}
	case *batchv1.Job:
		spec = o.Spec.Template.Spec
	case *appsv1.DaemonSet:
		spec = o.Spec.Template.Spec
	}
	return append(spec.InitContainers, spec.Containers...)
}

func TestMountsHaveVolumes(t *testing.T) {
	b, err := os.ReadFile("../../docs/kubernetes/indexed-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, job, _ := bytes.Cut(b, []byte("\n---\n"))
	object, err := decode(job)
	if err != nil {
		t.Fatal(err)
	}
	volumes := map[string]bool{}
	for _, v := range object.(*batchv1.Job).Spec.Template.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range containers(object) {
		for _, m := range c.VolumeMounts {
			if !volumes[m.Name] {
				t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
			}
		}
	}
}

func TestWhatKubernetesDoesNotTakeIsFound(t *testing.T) {
	for name, document := range map[string]string{
		"an unknown field": "apiVersion: batch/v1\nkind: Job\nspec:\n  completion: 2\n",
		"a field twice":    "apiVersion: batch/v1\nkind: Job\nspec:\n  completions: 2\n  completions: 3\n",
		"a wrong type":     "apiVersion: batch/v1\nkind: Job\nspec:\n  completions: two\n",
		"another kind":     "apiVersion: batch/v2\nkind: Job\nspec:\n  completions: 2\n",
	} {
		if object, err := decode([]byte(document)); err == nil {
			t.Errorf("%s is taken: %v", name, object)
		}
	}
}
